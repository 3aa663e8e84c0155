import Testing

@testable import BrokerKit

/// The tool that the other tests of this folder look through.
@Suite struct WireFrameTests {
    @Test func framesAreThoseOfTheExamplesInTheRFC() {
        let hello = WireFrame.text("Hello")
        #expect(hello.bytes(mask: nil) == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        #expect(
            hello.bytes(mask: WireSide.mask)
                == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        )
        #expect(WireFrame.text("Hel", isFinal: false).bytes(mask: nil) == [0x01, 0x03, 0x48, 0x65, 0x6C])
        #expect(WireFrame(WireFrame.continuation, [0x6C, 0x6F]).bytes(mask: nil) == [0x80, 0x02, 0x6C, 0x6F])
        #expect(
            WireFrame(WireFrame.ping, Array("Hello".utf8)).bytes(mask: nil)
                == [0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]
        )
        let long = [UInt8](repeating: 1, count: 256)
        #expect(WireFrame(WireFrame.binary, long).bytes(mask: nil) == [0x82, 0x7E, 0x01, 0x00] + long)
        let longer = [UInt8](repeating: 1, count: 65_536)
        #expect(
            WireFrame(WireFrame.binary, longer).bytes(mask: nil) == [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + longer
        )
    }

    @Test(arguments: [nil, WireSide.mask]) func whatIsWrittenIsReadTheSame(mask: [UInt8]?) {
        let frames = [
            WireFrame.text("a"), WireFrame(WireFrame.binary, [UInt8](repeating: 7, count: 300), isFinal: false),
            WireFrame(WireFrame.continuation, [UInt8](repeating: 9, count: 70_000), reserved: 5), WireFrame(0xF),
        ]
        let bytes = frames.flatMap { $0.bytes(mask: mask) }
        var rest = bytes[...]
        for frame in frames { #expect(WireFrame.take(from: &rest) == frame) }
        #expect(rest.isEmpty)
        var partial = bytes.dropLast()
        var whole = 0
        while WireFrame.take(from: &partial) != nil { whole += 1 }
        #expect(whole == 3)
    }
}
