import Testing

@testable import SecureTransport

@Suite struct FrameWriterTests {
    private func frame(_ opcode: FrameOpcode, _ content: [UInt8], mask: UInt32? = nil) throws -> [UInt8] {
        let link = ScriptedLink()
        var writer = FrameWriter()
        content.withUnsafeBytes { writer.begin(opcode, $0, mask: mask) }
        #expect(!writer.isEmpty)
        try writer.send(to: link)
        #expect(writer.isEmpty && writer.unsentBytes == 0)
        return link.takeOutgoing()
    }

    @Test func theExamplesOfTheSpecificationAreWritten() throws {
        // RFC 6455, 5.7: "Hello" with the mask 37 fa 21 3d.
        let hello = Array("Hello".utf8)
        let masked: [UInt8] = [0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(try frame(.binary, hello, mask: 0x3D21_FA37) == [0x82, 0x85] + masked)
        #expect(try frame(.pong, hello, mask: 0x3D21_FA37) == [0x8A, 0x85] + masked)
    }

    @Test func eachLengthIsReadBack() throws {
        for count in Array(0...300) + [65_534, 65_535, 65_536] {
            let bytes = try frame(.binary, pattern(count))
            #expect(try ClientFrame.all(in: bytes).map(\.content) == [pattern(count)])
            #expect(bytes.count == count + (count < 126 ? 6 : count < 65_536 ? 8 : 14))
        }
        // The owner divides longer data.
        #expect(try ClientFrame.all(in: frame(.binary, pattern(65_537))).first?.content.count == 65_536)
    }

    @Test func aShortFrameAfterALongOneIsComplete() throws {
        let link = ScriptedLink()
        var writer = FrameWriter()
        for count in [0, 1_000, 3, 70, 65_536, 0, 130] {
            pattern(count).withUnsafeBytes { writer.begin(.binary, $0) }
            try writer.send(to: link)
            #expect(try link.takeFrames().map(\.content) == [pattern(count)])
        }
    }

    @Test func eachFrameHasAnotherMask() throws {
        let link = ScriptedLink()
        var writer = FrameWriter()
        for _ in 0..<1_000 {
            [1].withUnsafeBytes { writer.begin(.binary, $0) }
            try writer.send(to: link)
        }
        let masks = Set(try link.takeFrames().map(\.mask))
        // Two of 1,000 random masks are equal once in 8,600 runs.
        #expect(masks.count >= 998)
    }

    @Test func aFrameLeavesInPieces() throws {
        let link = ScriptedLink()
        var writer = FrameWriter()
        pattern(200).withUnsafeBytes { writer.begin(.binary, $0) }
        for left in (0..<208).reversed() {
            link.room = 1
            try writer.send(to: link)
            #expect(writer.unsentBytes == left && link.room == 0)
        }
        #expect(try link.takeFrames().map(\.content) == [pattern(200)])
        link.writeError = .reset("broken")
        [1].withUnsafeBytes { writer.begin(.binary, $0) }
        #expect(throws: LinkError.reset("broken")) { try writer.send(to: link) }
    }
}
