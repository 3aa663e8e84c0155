import Testing

@testable import WebSocketChat

@Suite struct MessageAssemblerTests {
    private static func add(
        _ text: String,
        to assembler: inout MessageAssembler,
        first: Bool = false,
        final: Bool = false
    ) -> (state: MessageAssembler.State, message: String) {
        var message = ""
        let state = Array(text.utf8).withUnsafeBytes { bytes in
            let piece = MessagePiece(bytes: bytes, isFirst: first, isFinal: final, isBinary: false)
            let state = assembler.add(piece)
            assembler.withMessage(piece) { message = String(decoding: $0, as: UTF8.self) }
            return state
        }
        return (state, message)
    }

    @Test func aSinglePieceIsTheMessageItself() {
        var assembler = MessageAssembler(limit: 5)
        var isSame = false
        let state = Array("hello".utf8).withUnsafeBytes { bytes in
            let piece = MessagePiece(bytes: bytes, isFirst: true, isFinal: true, isBinary: false)
            let state = assembler.add(piece)
            assembler.withMessage(piece) { isSame = $0.baseAddress == bytes.baseAddress && $0.count == 5 }
            return state
        }
        #expect(state == .whole && isSame)
    }

    @Test func piecesAreJoinedInOrder() {
        var assembler = MessageAssembler(limit: 5)
        #expect(Self.add("he", to: &assembler, first: true).state == .incomplete)
        #expect(assembler.isUnderWay)
        #expect(Self.add("", to: &assembler).state == .incomplete)
        #expect(Self.add("l", to: &assembler).state == .incomplete)
        #expect(Self.add("lo", to: &assembler, final: true) == (.whole, "hello"))
        #expect(!assembler.isUnderWay)
        assembler.forget()
        #expect(Self.add("next", to: &assembler, first: true, final: true) == (.whole, "next"))
    }

    @Test(arguments: [(4, MessageAssembler.State.whole), (5, .whole), (6, .tooBig)])
    func theLimitIsExactHoweverTheMessageIsCut(count: Int, state: MessageAssembler.State) {
        let text = String(repeating: "x", count: count)
        for cut in 0...count {
            var assembler = MessageAssembler(limit: 5)
            let first = Self.add(String(text.prefix(cut)), to: &assembler, first: true)
            if first.state == .tooBig { continue }
            // An empty last piece, as compression makes them, is no byte.
            let last = Self.add(String(text.dropFirst(cut)), to: &assembler, final: true)
            #expect(last.state == state, "cut at \(cut)")
            #expect(last.message == String(text.prefix(5)))
        }
    }

    @Test func anEmptyMessageIsWholeEvenWhereNothingFits() {
        var assembler = MessageAssembler(limit: 0)
        #expect(Self.add("", to: &assembler, first: true, final: true) == (.whole, ""))
        #expect(Self.add("x", to: &assembler, first: true, final: true) == (.tooBig, ""))
    }

    @Test func endlessEmptyPiecesAreTooBig() {
        var assembler = MessageAssembler(limit: 1_000_000)
        var state = Self.add("", to: &assembler, first: true).state
        var count = 1
        while state == .incomplete, count <= 10_000 {
            state = Self.add("", to: &assembler).state
            count += 1
        }
        #expect(state == .tooBig)
        #expect(count == MessageAssembler.emptyPieces + 1)
    }
}
