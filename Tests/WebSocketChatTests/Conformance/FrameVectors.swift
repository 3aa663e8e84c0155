@testable import BrokerKit

/// Vectors written from RFC 6455, and, where it says nothing else, RFC 3629 for UTF-8.
enum FrameVectors {
    /// Made anew for who asks: the leak sanitizer does not see what a constant holds in the cases of an enum.
    static var all: [FrameVector] {
        lengths + simple + fragmented + brokenFragments + reserved + controls + heads + texts + brokenTexts + closes
            + closing + brokenCloses
    }

    static let hello = WireFrame.text("Hello")

    static func beginning(_ text: String) -> [WireFrame] { [.text(text, isFinal: false)] }

    static func middle(_ text: String) -> [WireFrame] {
        [WireFrame(WireFrame.continuation, Array(text.utf8), isFinal: false)]
    }

    static func ending(_ text: String) -> [WireFrame] { [WireFrame(WireFrame.continuation, Array(text.utf8))] }

    /// 5.2: the places where the form of a length changes.
    private static var lengths: [FrameVector] {
        var vectors: [FrameVector] = []
        for count in [0, 1, 125, 126, 65_535, 65_536] {
            for opcode in [WireFrame.text, WireFrame.binary] {
                let frame = WireFrame(opcode, [UInt8](repeating: 0x2A, count: count))
                vectors.append(FrameVector("\(count) bytes of kind \(opcode)", [frame], messages: [frame], .open))
            }
        }
        return vectors
    }

    /// 5.7: its examples, and 5.5.
    private static var simple: [FrameVector] {
        let long = [UInt8](repeating: 0xFE, count: 125)
        return [
            FrameVector("Hello", [hello], messages: [hello], .open),
            FrameVector("two messages", [hello, .text("again")], messages: [hello, .text("again")], .open),
            FrameVector("a ping", [WireFrame(WireFrame.ping, hello.payload)], pongs: [hello.payload], .open),
            FrameVector("a ping without content", [WireFrame(WireFrame.ping)], pongs: [[]], .open),
            FrameVector("a ping of 125 bytes", [WireFrame(WireFrame.ping, long)], pongs: [long], .open),
            FrameVector(
                "a pong that nobody asked for",
                [WireFrame(WireFrame.pong, [1]), hello],
                messages: [hello],
                .open
            ),
        ]
    }

    /// 5.4.
    private static var fragmented: [FrameVector] {
        let ping = [WireFrame(WireFrame.ping, [7])]
        let pong = [WireFrame(WireFrame.pong, [7])]
        let empty = middle("")
        let letters = beginning("a") + [[WireFrame]](repeating: middle("a"), count: 98).joined() + ending("a")
        return [
            FrameVector("Hel and lo", beginning("Hel") + ending("lo"), messages: [hello], .open),
            FrameVector(
                "a ping between fragments",
                beginning("Hel") + ping + ending("lo"),
                messages: [hello],
                pongs: [[7]],
                .open
            ),
            FrameVector("a pong between fragments", beginning("Hel") + pong + ending("lo"), messages: [hello], .open),
            FrameVector(
                "empty fragments",
                beginning("") + empty + middle("Hello") + ending(""),
                messages: [hello],
                .open
            ),
            FrameVector("nothing in fragments", beginning("") + empty + ending(""), messages: [.text("")], .open),
            FrameVector(
                "bytes in fragments",
                [WireFrame(WireFrame.binary, [0xFF], isFinal: false), WireFrame(WireFrame.continuation, [0xFE])],
                messages: [WireFrame(WireFrame.binary, [0xFF, 0xFE])],
                .open
            ),
            FrameVector(
                "one byte a fragment",
                letters,
                messages: [.text(String(repeating: "a", count: 100))],
                .open
            ),
        ]
    }

    private static var brokenFragments: [FrameVector] {
        [
            FrameVector("a continuation of nothing", ending("lo"), .failed(1_002)),
            FrameVector("a continuation of nothing, to be continued", middle("lo"), .failed(1_002)),
            FrameVector("a text within a message", beginning("Hel") + [hello], .failed(1_002)),
            FrameVector("bytes within a text", beginning("Hel") + [WireFrame(WireFrame.binary, [1])], .failed(1_002)),
            FrameVector("a beginning within a message", beginning("Hel") + beginning("lo"), .failed(1_002)),
        ]
    }
}
