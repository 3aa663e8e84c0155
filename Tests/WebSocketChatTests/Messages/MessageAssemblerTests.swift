import SignalboxCore
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

    @Test func aSinglePieceIsNotCopied() {
        var assembler = MessageAssembler(limit: 5)
        var isSame = false
        let state = Array("hello".utf8).withUnsafeBytes { bytes in
            let piece = MessagePiece(bytes: bytes, isFirst: true, isFinal: true, isBinary: false)
            let state = assembler.add(piece)
            assembler.withMessage(piece) { isSame = $0.baseAddress == bytes.baseAddress && $0.count == 5 }
            return state
        }
        #expect(state == .complete && isSame)
    }

    @Test func piecesAreJoinedInOrder() {
        var assembler = MessageAssembler(limit: 5)
        #expect(Self.add("he", to: &assembler, first: true).state == .incomplete)
        #expect(assembler.isInProgress)
        #expect(Self.add("", to: &assembler).state == .incomplete)
        #expect(Self.add("l", to: &assembler).state == .incomplete)
        #expect(Self.add("lo", to: &assembler, final: true) == (.complete, "hello"))
        #expect(!assembler.isInProgress)
        assembler.reset()
        #expect(Self.add("next", to: &assembler, first: true, final: true) == (.complete, "next"))
    }

    @Test(arguments: [(4, MessageAssembler.State.complete), (5, .complete), (6, .tooBig)])
    func theLimitIsExactForEverySplit(count: Int, state: MessageAssembler.State) {
        let text = String(repeating: "x", count: count)
        for cut in 0...count {
            var assembler = MessageAssembler(limit: 5)
            let first = Self.add(String(text.prefix(cut)), to: &assembler, first: true)
            if first.state == .tooBig { continue }
            // An empty last piece, which compression produces, adds no byte.
            let last = Self.add(String(text.dropFirst(cut)), to: &assembler, final: true)
            #expect(last.state == state, "cut at \(cut)")
            #expect(last.message == String(text.prefix(5)))
        }
    }

    @Test func anEmptyMessageIsCompleteWithALimitOfZero() {
        var assembler = MessageAssembler(limit: 0)
        #expect(Self.add("", to: &assembler, first: true, final: true) == (.complete, ""))
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

@Suite struct FrameElementsTests {
    private static func elements(_ text: String, limit: Int = 100) throws -> [String] {
        let bytes = Array(text.utf8)
        let ranges = try bytes.withUnsafeBytes { try FrameElements.ranges(in: $0, limit: limit) }
        return ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    @Test(arguments: [
        ("[1]", ["1"]), (" [ {\"a\":1} , [2,3] ]\n", ["{\"a\":1}", "[2,3]"]),
        (#"["]", ",", "\"]", "\\"]"#, [#""]""#, #"",""#, #""\"]""#, #""\\""#]),
        ("[{\"a\":[{\"b\":\"]}\"}]},2]", ["{\"a\":[{\"b\":\"]}\"}]}", "2"]),
        // The value of an element is checked only when it is read.
        ("[1 2,tru]", ["1 2", "tru"]), ("[[}]", ["[}"]),
    ])
    func elementsAreSeparatedByCommas(text: String, elements: [String]) throws {
        #expect(try Self.elements(text) == elements)
    }

    @Test(arguments: [
        ("[]", FrameElements.empty), ("[ \n]", FrameElements.empty), ("", FrameElements.empty),
        ("[1,]", FrameElements.syntax(offset: 3)),
        ("[,1]", FrameElements.syntax(offset: 1)),
        ("[1,,2]", FrameElements.syntax(offset: 3)), ("[", FrameElements.syntax(offset: 1)),
        ("[1", FrameElements.syntax(offset: 2)),
        ("[\"", FrameElements.syntax(offset: 2)), ("[\"\\", FrameElements.syntax(offset: 3)),
        ("[\"\\\"]", FrameElements.syntax(offset: 5)), ("[1}]", FrameElements.syntax(offset: 2)),
        ("[1]]", FrameElements.syntax(offset: 3)),
        ("[1] [2]", FrameElements.syntax(offset: 4)), ("[1]x", FrameElements.syntax(offset: 3)),
    ])
    func anInvalidArrayIsRefusedWithTheErrorOffset(text: String, error: BodyError) {
        #expect(throws: error) { try Self.elements(text) }
    }

    @Test func theNumberOfElementsIsLimited() throws {
        #expect(try Self.elements("[1,2,3]", limit: 3).count == 3)
        #expect(throws: FrameElements.tooMany(limit: 3)) { try Self.elements("[1,2,3,4]", limit: 3) }
        // The rest is not parsed.
        #expect(throws: FrameElements.tooMany(limit: 3)) {
            try Self.elements("[1,2,3,4," + String(repeating: "[", count: 9), limit: 3)
        }
    }

    @Test func deepNestingUsesNoStack() throws {
        let deep = String(repeating: "[", count: 200_000) + String(repeating: "]", count: 200_000)
        #expect(try Self.elements(deep).count == 1)
        #expect(throws: FrameElements.syntax(offset: 200_000)) {
            try Self.elements(String(repeating: "[", count: 200_000))
        }
    }

    @Test func anArrayStartsWithABracket() {
        for (text, isArray) in [
            ("[", true), (" \t\r\n[1]", true), ("{}", false), ("", false), ("  ", false), ("\u{FEFF}[1]", false),
        ] {
            #expect(Array(text.utf8).withUnsafeBytes { FrameElements.isArray($0) } == isArray, "\(text)")
        }
    }
}

@Suite struct UTF8StreamTests {
    private func isText(_ pieces: [[UInt8]]) -> Bool {
        var stream = UTF8Stream()
        for piece in pieces where !piece.withUnsafeBytes({ stream.take($0) }) { return false }
        return stream.isComplete
    }

    private func isTextToSwift(_ bytes: [UInt8]) -> Bool {
        String(validating: bytes, as: UTF8.self) != nil
    }

    private func agrees(_ bytes: [UInt8]) -> Bool {
        let expected = isTextToSwift(bytes)
        return isText([bytes]) == expected && isText(bytes.map { [$0] }) == expected
    }

    @Test func oneAndTwoBytesMatchSwift() {
        for first in UInt8.min...UInt8.max {
            #expect(agrees([first]))
            for second in UInt8.min...UInt8.max where !agrees([first, second]) {
                Issue.record("\(first) \(second)")
            }
        }
    }

    @Test func threeAndFourBytesMatchSwiftAtEachBoundary() {
        let edges: [UInt8] = [0x00, 0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xED, 0xF4, 0xFF]
        for first in UInt8(0xC0)...0xFF {
            for second in edges {
                for third in edges {
                    if !agrees([first, second, third]) { Issue.record("\(first) \(second) \(third)") }
                    for fourth in edges where !agrees([first, second, third, fourth]) {
                        Issue.record("\(first) \(second) \(third) \(fourth)")
                    }
                }
            }
        }
    }

    @Test func everyPositionInARunOfASCIIIsChecked() {
        for count in 0...40 {
            let text = [UInt8](repeating: 0x61, count: count)
            #expect(isText([text]))
            for index in 0..<count {
                var broken = text
                broken[index] = 0xFF
                #expect(!isText([broken]))
            }
        }
    }

    @Test func aTextMayBeSplitAnywhere() {
        let text = Array("a\u{E9}\u{20AC}\u{1F600}abcdefghijk\u{10FFFF}\u{D7FF}\u{E000}z".utf8)
        for first in 0...text.count {
            #expect(isText([Array(text[..<first]), Array(text[first...])]))
            #expect(isText([Array(text[..<first])]) == isTextToSwift(Array(text[..<first])))
        }
    }

    @Test(
        arguments: [
            [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0x80], [0x61, 0xBF],
        ] as [[UInt8]]
    )
    func invalidUTF8IsRefusedBeforeItsEnd(bytes: [UInt8]) {
        var stream = UTF8Stream()
        let head = bytes.prefix(2)
        #expect(!Array(head).withUnsafeBytes { stream.take($0) })
    }
}
