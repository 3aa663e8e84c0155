import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit

/// Sends client frames over a plain socket to a server that echoes.
@Suite(.timeLimit(.minutes(10))) struct ServerVectorTests {
    @Test(arguments: FrameVector.Cut.allCases) func aServerAnswersAsTheRFCRequires(cut: FrameVector.Cut) async throws {
        let vectors = FrameVectors.all.filter { cut != .everywhere || $0.isSmall }
        let mayDrop = cut != .nowhere
        try await Echo.withServer { echo, server, port in
            for (number, vector) in vectors.enumerated() {
                var side = try await WireSide.openClient(port: port)
                let received = try await vector.script(mask: WireSide.mask, cut: cut).play(on: &side)
                let mismatch = vector.mismatch(in: received, mayDrop: mayDrop)
                #expect(mismatch == nil, "\(vector.name): \(mismatch ?? "")")
                let reported = await echo.closed.first(number + 1)[number].code
                #expect(vector.reportedCodes(mayDrop: mayDrop).contains(reported), "\(vector.name)")
            }
            let counts = server.counts
            #expect(counts.opened == vectors.count)
            #expect(counts.open == 0)
            let failed = vectors.count { if case .failed = $0.end { true } else { false } }
            let dropped = vectors.count { if case .dropped = $0.end { true } else { false } }
            #expect(counts.protocolViolations + counts.lost == failed + dropped)
            if !mayDrop { #expect(counts.protocolViolations == failed) }
        }
    }
}

/// Sends server frames over a plain socket to a feed that echoes.
@Suite(.timeLimit(.minutes(10))) struct FeedVectorTests {
    @Test(arguments: FrameVector.Cut.allCases) func aFeedAnswersAsTheRFCRequires(cut: FrameVector.Cut) async throws {
        let vectors = FrameVectors.all.filter { cut != .everywhere || $0.isSmall }.map(\.forFeed)
        let host = try #require(RawHost())
        try await Echo.withFeed(of: host.port) { echo, _ in
            for (number, vector) in vectors.enumerated() {
                var side = try await WireSide.openServer(host)
                let received = try await vector.script(mask: nil, cut: cut).play(on: &side)
                let mismatch = vector.mismatch(in: received, mayDrop: false)
                #expect(mismatch == nil, "\(vector.name): \(mismatch ?? "")")
                // A server closes first (RFC 6455, 7.1.1); a client may wait for that.
                side.peer.finish()
                _ = await echo.closed.first(number + 1)
            }
        }
    }
}

/// Vectors derived from RFC 6455 and, for UTF-8, from RFC 3629.
enum FrameVectors {
    /// Computed on each access: the leak sanitizer does not find what a constant holds in enum cases.
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

    /// 5.2: the lengths at which the encoding of the length changes.
    private static var lengths: [FrameVector] {
        var vectors: [FrameVector] = []
        for count in [0, 1, 125, 126, 65_535, 65_536] {
            for opcode in [WireFrame.text, WireFrame.binary] {
                let frame = WireFrame(opcode, [UInt8](repeating: 0x2A, count: count))
                vectors.append(FrameVector("\(count) bytes with opcode \(opcode)", [frame], messages: [frame], .open))
            }
        }
        return vectors
    }

    /// 5.7 (its examples) and 5.5.
    private static var simple: [FrameVector] {
        let long = [UInt8](repeating: 0xFE, count: 125)
        return [
            FrameVector("Hello", [hello], messages: [hello], .open),
            FrameVector("two messages", [hello, .text("again")], messages: [hello, .text("again")], .open),
            FrameVector("a ping", [WireFrame(WireFrame.ping, hello.payload)], pongs: [hello.payload], .open),
            FrameVector("a ping without content", [WireFrame(WireFrame.ping)], pongs: [[]], .open),
            FrameVector("a ping of 125 bytes", [WireFrame(WireFrame.ping, long)], pongs: [long], .open),
            FrameVector(
                "an unsolicited pong",
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
            FrameVector("Hello in two fragments", beginning("Hel") + ending("lo"), messages: [hello], .open),
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
            FrameVector(
                "an empty message in fragments",
                beginning("") + empty + ending(""),
                messages: [.text("")],
                .open
            ),
            FrameVector(
                "a binary message in fragments",
                [WireFrame(WireFrame.binary, [0xFF], isFinal: false), WireFrame(WireFrame.continuation, [0xFE])],
                messages: [WireFrame(WireFrame.binary, [0xFF, 0xFE])],
                .open
            ),
            FrameVector(
                "one byte per fragment",
                letters,
                messages: [.text(String(repeating: "a", count: 100))],
                .open
            ),
        ]
    }

    private static var brokenFragments: [FrameVector] {
        [
            FrameVector("a final continuation without a message", ending("lo"), .failed(1_002)),
            FrameVector("a non-final continuation without a message", middle("lo"), .failed(1_002)),
            FrameVector("a text frame within a message", beginning("Hel") + [hello], .failed(1_002)),
            FrameVector(
                "a binary frame within a text message",
                beginning("Hel") + [WireFrame(WireFrame.binary, [1])],
                .failed(1_002)
            ),
            FrameVector("a first fragment within a message", beginning("Hel") + beginning("lo"), .failed(1_002)),
        ]
    }
}

/// 5.1, 5.2 and 5.5: forbidden first bytes of a frame.
extension FrameVectors {
    // Control frames that fail the connection have no payload: libwebsockets 4.1.6 writes it over the code of the close
    // frame that it is waiting to send.
    static var reserved: [FrameVector] {
        var vectors: [FrameVector] = []
        for bits in UInt8(1)...7 {
            for opcode in [WireFrame.text, WireFrame.binary, WireFrame.ping, WireFrame.close] {
                let frame = WireFrame(opcode, opcode < WireFrame.close ? [0x61] : [], reserved: bits)
                vectors.append(FrameVector("reserved bits \(bits) with opcode \(opcode)", [frame], .failed(1_002)))
            }
        }
        for opcode: UInt8 in [0x3, 0x4, 0x5, 0x6, 0x7, 0xB, 0xC, 0xD, 0xE, 0xF] {
            for payload in [[], hello.payload] {
                let frame = WireFrame(opcode, payload)
                vectors.append(FrameVector("opcode \(opcode) with \(payload.count) bytes", [frame], .failed(1_002)))
            }
        }
        return vectors
    }

    static var controls: [FrameVector] {
        [WireFrame.ping, WireFrame.pong, WireFrame.close].flatMap { opcode in
            let long = WireFrame(opcode, [3, 232] + [UInt8](repeating: 0x61, count: 124))
            let fragment = WireFrame(opcode, [], isFinal: false)
            return [
                FrameVector("126 bytes with opcode \(opcode)", [long], .dropped(1_002)),
                FrameVector("a fragment with opcode \(opcode)", [fragment], .failed(1_002)),
            ]
        }
    }

    static var heads: [FrameVector] {
        // RFC 6455, 5.1, requires failing the connection for a missing or forbidden mask. libwebsockets 4.1.6 accepts
        // such frames and does not report them. The mask protects proxies from scripts in browsers, which always mask.
        let masks = [
            FrameVector("a wrong mask is accepted", pieces: [.wronglyMasked(hello)], messages: [hello], .open),
            FrameVector(
                "a wrong mask on a ping is accepted",
                pieces: [.wronglyMasked(WireFrame(WireFrame.ping, [7]))],
                pongs: [[7]],
                .open
            ),
        ]
        return masks + [
            FrameVector(
                "a length with the highest bit set",
                pieces: [.head([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 1])],
                .dropped(1_002)
            )
        ]
    }
}

/// 8.1: text must be UTF-8 (RFC 3629), even if the end of a fragment splits a character.
extension FrameVectors {
    static var texts: [FrameVector] {
        let names: [(String, [UInt8])] = [
            ("U+0000", [0]),
            ("a byte order mark is preserved", [0xEF, 0xBB, 0xBF, 0x61]),
            (
                "the first characters of two, three and four bytes",
                [0xC2, 0x80, 0xE0, 0xA0, 0x80, 0xF0, 0x90, 0x80, 0x80]
            ),
            ("the last characters of one and two bytes", [0x7F, 0xDF, 0xBF]),
            ("the last characters of three and four bytes", [0xEF, 0xBF, 0xBF, 0xF4, 0x8F, 0xBF, 0xBF]),
            ("the characters around the surrogates", [0xED, 0x9F, 0xBF, 0xEE, 0x80, 0x80]),
            ("noncharacters", [0xEF, 0xB7, 0x90, 0xEF, 0xBF, 0xBE]),
            ("Greek and a locomotive", Array("κόσμε\u{1F682}".utf8)),
        ]
        return names.flatMap { name, bytes in
            let whole = WireFrame(WireFrame.text, bytes)
            return [
                FrameVector(name, [whole], messages: [whole], .open),
                FrameVector("\(name), one byte per fragment", cut(bytes), messages: [whole], .open),
            ]
        }
    }

    static var brokenTexts: [FrameVector] {
        let names: [(String, [UInt8])] = [
            ("a lone continuation byte", [0x80]), ("an overlong slash", [0xC0, 0xAF]),
            ("an overlong U+007F", [0xC1, 0xBF]), ("an overlong slash of three bytes", [0xE0, 0x80, 0xAF]),
            ("an overlong slash of four bytes", [0xF0, 0x80, 0x80, 0xAF]), ("the first surrogate", [0xED, 0xA0, 0x80]),
            ("the last surrogate", [0xED, 0xBF, 0xBF]),
            ("a pair of surrogates", [0xED, 0xA0, 0x81, 0xED, 0xB0, 0x80]),
            ("a character beyond U+10FFFF", [0xF4, 0x90, 0x80, 0x80]),
            ("a character of five bytes", [0xF8, 0x88, 0x80, 0x80, 0x80]),
            ("0xFE", [0xFE]), ("0xFF", [0xFF]), ("a truncated character of two bytes", [0xC3]),
            ("a truncated character of three bytes", [0xE2, 0x82]),
            ("a truncated character of four bytes", [0xF0, 0x9F, 0x9A]), ("Latin-1", [0x63, 0x61, 0x66, 0xE9, 0x21]),
        ]
        return names.flatMap { name, bytes in
            let text = Array("ab".utf8) + bytes
            return [
                FrameVector("\(name) is not UTF-8", [WireFrame(WireFrame.text, text)], .failed(1_007)),
                FrameVector("\(name) is not UTF-8, one byte per fragment", cut(text), .failed(1_007)),
            ]
        }
    }

    private static func cut(_ text: [UInt8]) -> [WireFrame] {
        text.indices.map { index in
            let opcode = index == 0 ? WireFrame.text : WireFrame.continuation
            return WireFrame(opcode, [text[index]], isFinal: index == text.count - 1)
        }
    }
}

/// 5.5.1, 7.4 and the registry of close codes.
extension FrameVectors {
    static var closes: [FrameVector] {
        let codes: [UInt16] = [
            1_000, 1_001, 1_002, 1_003, 1_007, 1_008, 1_009, 1_010, 1_011, 3_000, 3_999, 4_000, 4_999,
        ]
        // Unknown to libwebsockets 4.1.6, which answers 1002. That also ends the connection.
        let late: [UInt16] = [1_012, 1_013, 1_014]
        return codes.map { FrameVector("close \($0)", [.close($0)], .closed([nil, 1_000, $0])) }
            + late.map { FrameVector("close \($0)", [.close($0)], .closed([nil, 1_000, 1_002, $0])) }
    }

    static var closing: [FrameVector] {
        let greek = Array("κόσμε".utf8)
        let long = [UInt8](repeating: 0x61, count: 123)
        let ping = WireFrame(WireFrame.ping)
        let normal = WireFrame.close(1_000)
        return [
            FrameVector("close without a code", [WireFrame(WireFrame.close)], .closed([nil, 1_000])),
            FrameVector("close with a reason", [.close(1_000, greek)], .closed([nil, 1_000])),
            FrameVector("close with a reason of 123 bytes", [.close(1_000, long)], .closed([nil, 1_000])),
            FrameVector("close within a message", beginning("Hel") + [normal] + ending("lo"), .closed([nil, 1_000])),
            FrameVector("a message before close", [hello, normal], messages: [hello], .closed([nil, 1_000])),
            FrameVector("a message after close is not received", [normal, hello], .closed([nil, 1_000])),
            FrameVector("a ping after close is not answered", [normal, ping], .closed([nil, 1_000])),
            FrameVector("two close frames", [normal, .close(1_001)], .closed([nil, 1_000, 1_001])),
            // Malformed (5.5.1), and treated as a close without a code.
            FrameVector("close with half a code", [WireFrame(WireFrame.close, [3])], .closed([nil, 1_002])),
        ]
    }

    static var brokenCloses: [FrameVector] {
        let codes: [UInt16] = [0, 999, 1_004, 1_005, 1_006, 1_015, 1_016, 1_100, 2_000, 2_999]
        return codes.map { FrameVector("forbidden close \($0)", [.close($0)], .closed([1_002])) } + [
            FrameVector("close with a reason that is not UTF-8", [.close(1_000, [0xC3, 0x28])], .dropped(1_007))
        ]
    }
}

/// The frame parser that the other tests of this folder use.
@Suite struct WireFrameTests {
    @Test func framesMatchTheRFCExamples() {
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

    @Test(arguments: [nil, WireSide.mask]) func framesRoundTrip(mask: [UInt8]?) {
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
