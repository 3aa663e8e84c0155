import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(3))) struct DeflateMessageTests {
    enum Content: CaseIterable { case zeros, text, noise }

    static func message(_ content: Content, _ count: Int) -> [UInt8] {
        var random = SeededGenerator(seed: 1)
        let words = Array("{\"n\":17,\"text\":\"the quick brown fox\"},".utf8)
        return (0..<count).map { index in
            switch content {
            case .zeros: return 0
            case .text: return words[(index + index / 1_000) % words.count]
            case .noise: return .random(in: .min ... .max, using: &random)
            }
        }
    }

    /// Returns the pieces of a message that arrives in chunks, or `nil` if the message is broken.
    private func pieces(_ inflater: MessageInflater, _ message: [UInt8], chunk: Int = .max) -> [[UInt8]]? {
        var pieces: [[UInt8]] = []
        var rest = message[...]
        repeat {
            let head = Array(rest.prefix(chunk))
            rest = rest.dropFirst(head.count)
            let progress = head.withUnsafeBytes { bytes in
                inflater.inflate(bytes, endsMessage: rest.isEmpty) { piece, _ in
                    pieces.append(Array(piece))
                    return true
                }
            }
            guard progress == .done else { return nil }
        } while !rest.isEmpty
        return pieces
    }

    @Test(arguments: [true, false], Content.allCases)
    func messagesRoundTrip(contextTakeover: Bool, content: Content) throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, contextTakeover: contextTakeover))
        let inflater = MessageInflater(contextTakeover: contextTakeover)
        for count in [0, 1, 125, 126, 65_535, 65_536, 1 << 20, 7, 0, 16_384, 16_383, 32_768] {
            let message = DeflateMessageTests.message(content, count)
            let packed = try #require(deflater.deflate(message))
            let chunk = count > 200_000 ? 4_096 : 100
            let back = try #require(pieces(inflater, packed, chunk: chunk))
            #expect(Array(back.joined()) == message)
            #expect(back.allSatisfy { $0.count <= MessageInflater.pieceBytes })
        }
    }

    @Test(arguments: 9...15) func everyWindowSizeRoundTrips(bits: Int) throws {
        let deflater = try #require(MessageDeflater(windowBits: bits, contextTakeover: true))
        let inflater = MessageInflater(contextTakeover: true)
        for content in Content.allCases {
            let message = DeflateMessageTests.message(content, 100_000)
            let back = pieces(inflater, try #require(deflater.deflate(message)))
            #expect(Array(try #require(back).joined()) == message)
        }
    }

    /// The second half repeats the first, 600 bytes back, which a window of 512 bytes does not reach (RFC 7692, 7.1.2).
    @Test(arguments: [(9, false), (11, true)]) func aMessageRefersBackOnlyWithinTheWindow(bits: Int, isShort: Bool)
        throws
    {
        let half = DeflateMessageTests.message(.noise, 600)
        let deflater = try #require(MessageDeflater(windowBits: bits, contextTakeover: true))
        #expect((try #require(deflater.deflate(half + half)).count < 800) == isShort)
        #expect((try #require(deflater.deflate(half)).count < 100) == isShort)
    }

    @Test func anUnsupportedWindowSizeIsRefused() {
        #expect(MessageDeflater(windowBits: 8, contextTakeover: true) == nil)
    }

    @Test func messagesReferBackOnlyWithContextTakeover() throws {
        let message = DeflateMessageTests.message(.noise, 1_000)
        for contextTakeover in [true, false] {
            let deflater = try #require(MessageDeflater(windowBits: 15, contextTakeover: contextTakeover))
            _ = deflater.deflate(message)
            let second = try #require(deflater.deflate(message))
            #expect((second.count < 100) == contextTakeover)
            // An inflater that has not read the first message can read the second only if it does not refer back.
            #expect((pieces(MessageInflater(contextTakeover: false), second) != nil) == !contextTakeover)
        }
    }

    // The examples of RFC 7692, 7.2.3: one block, a shared window, no compression, a last block, two blocks.
    @Test(
        arguments: [
            [[0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]],
            [[0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], [0xF2, 0x00, 0x11, 0x00, 0x00]],
            [[0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]],
            [[0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]],
            [[0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]],
        ] as [[[UInt8]]]
    )
    func theRFCExamplesInflateToHello(messages: [[UInt8]]) throws {
        for chunk in [1, 2, 100] {
            let inflater = MessageInflater(contextTakeover: true)
            for message in messages {
                let back = try #require(pieces(inflater, message, chunk: chunk))
                #expect(Array(back.joined()) == Array("Hello".utf8))
            }
        }
    }

    @Test func anEmptyMessageInflatesWithAndWithoutItsByte() throws {
        let inflater = MessageInflater(contextTakeover: true)
        for _ in 0..<3 {
            #expect(pieces(inflater, [0x00]) == [[]])
            #expect(pieces(inflater, []) == [[]])
        }
    }

    @Test func aTruncatedMessageIsBroken() throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, contextTakeover: false))
        let packed = try #require(deflater.deflate(DeflateMessageTests.message(.text, 500)))
        for count in 1..<packed.count - 1 {
            #expect(pieces(MessageInflater(contextTakeover: true), Array(packed.prefix(count))) == nil)
        }
    }

    @Test func anInvalidBlockIsBroken() {
        #expect(pieces(MessageInflater(contextTakeover: true), [0x07, 0x07, 0x07]) == nil)
        // Refers to data before the beginning.
        #expect(pieces(MessageInflater(contextTakeover: true), [0xF2, 0x00, 0x11, 0x00, 0x00]) == nil)
    }

    @Test(arguments: [100_000, 65_536, 1 << 20], [1, 7, 4_096, Int.max])
    func inflatingStopsAndResumesAtEachPiece(count: Int, chunk: Int) throws {
        // Zeros end anywhere in a piece, so every stopping point occurs.
        let packed = ZerosInLittle(count: count).bytes
        let inflater = MessageInflater(contextTakeover: true)
        var all = 0
        var finals = 0
        var rest = packed[...]
        while !rest.isEmpty {
            var head = Array(rest.prefix(chunk))
            rest = rest.dropFirst(head.count)
            while true {
                var given = 0
                let progress = head.withUnsafeBytes { bytes in
                    inflater.inflate(bytes, endsMessage: rest.isEmpty) { piece, isLast in
                        given += 1
                        all += piece.count
                        finals += isLast ? 1 : 0
                        return false
                    }
                }
                #expect(given <= 1)
                guard case .stopped(let used) = progress else {
                    try #require(progress == .done)
                    break
                }
                head.removeFirst(used)
            }
        }
        #expect(all == count)
        #expect(finals == 1)
    }

    @Test func aCompressionBombIsInflatedOnlyOnDemand() {
        let packed = ZerosInLittle(count: 64 << 20).bytes
        var all = 0
        let progress = packed.withUnsafeBytes { bytes in
            MessageInflater(contextTakeover: true).inflate(bytes, endsMessage: true) { piece, _ in
                all += piece.count
                return all < 100_000
            }
        }
        guard case .stopped(let used) = progress else { return #expect(progress == .stopped(used: 0)) }
        #expect(all <= 100_000 + MessageInflater.pieceBytes)
        #expect(used < 2_000)
    }

    @Test func damagedMessagesFailOrInflateToOtherBytes() throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, contextTakeover: false))
        let originals = try Content.allCases.flatMap { content in
            try [100, 3_000].map { try #require(deflater.deflate(DeflateMessageTests.message(content, $0))) }
        }
        var random = SeededGenerator(seed: 2)
        var broken = 0
        for round in 0..<10_000 {
            var bytes = originals[round % originals.count]
            for _ in 0...Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: .min ... .max, using: &random)
            }
            let inflater = MessageInflater(contextTakeover: round % 2 == 0)
            var budget = 64
            var rest = bytes[...]
            repeat {
                let head = Array(rest.prefix(Int.random(in: 1...700, using: &random)))
                rest = rest.dropFirst(head.count)
                let progress = head.withUnsafeBytes { input in
                    inflater.inflate(input, endsMessage: rest.isEmpty) { piece, _ in
                        budget -= 1
                        return budget > 0
                    }
                }
                if progress == .broken { broken += 1 }
                if progress != .done { break }
            } while !rest.isEmpty
        }
        #expect(broken > 1_000)
        #expect(broken < 10_000)
    }
}

// Serialized: each raw peer takes a thread of the system's pool.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DeflateNegotiationTests {
    private static let name = "permessage-deflate"

    // Offers, and the answers of a server; `nil` means that messages are not compressed.
    static let offers: [(String, String?)] = [
        (name, name),
        ("\(name); client_max_window_bits", name),
        ("\(name); client_max_window_bits=9", name),
        ("\(name); server_no_context_takeover", "\(name); server_no_context_takeover"),
        (
            "\(name);client_no_context_takeover;server_no_context_takeover",
            "\(name); client_no_context_takeover; server_no_context_takeover"
        ),
        ("\(name); server_max_window_bits=8", "\(name); server_max_window_bits=8"),
        ("\(name); server_max_window_bits=10", "\(name); server_max_window_bits=10"),
        ("\(name) ; server_max_window_bits=15 ", "\(name); server_max_window_bits=15"),
        ("x-other, \(name)", name),
        ("x-other; a=b, , \(name); client_max_window_bits, x-more", name),
        // The server takes the first offer that it can accept.
        ("\(name); unknown, \(name); server_max_window_bits=12, \(name)", "\(name); server_max_window_bits=12"),
        ("\(name); server_max_window_bits=7, \(name)", name),
        ("\(name), \(name); server_no_context_takeover", "\(name); server_no_context_takeover"),
        ("\(name), \(name)", name),
        // The server declines unknown, repeated and out-of-range parameters.
        ("\(name); unknown", nil),
        ("\(name); unknown=1", nil),
        ("\(name); server_no_context_takeover; server_no_context_takeover", nil),
        ("\(name); client_max_window_bits; client_max_window_bits=10", nil),
        ("\(name); server_no_context_takeover=1", nil),
        ("\(name); server_max_window_bits", nil),
        ("\(name); server_max_window_bits=7", nil),
        ("\(name); server_max_window_bits=16", nil),
        ("\(name); server_max_window_bits=010", nil),
        ("\(name); server_max_window_bits=+9", nil),
        ("\(name); server_max_window_bits=99999999999999999999", nil),
        ("\(name); server_max_window_bits=", nil),
        ("\(name); client_max_window_bits=16", nil),
        ("\(name); client_max_window_bits=x", nil),
        ("\(name); server_max_window_bits=\"10\"", nil),
        ("\(name);", nil),
        ("\(name)x", nil),
        ("per message-deflate", nil),
        ("x-webkit-deflate-frame", nil),
        (";, \(name)", nil),
        ("\t,\t", nil),
    ]

    @Test(arguments: offers) func aServerAcceptsTheFirstSupportedOffer(offer: String, answer: String?)
        async throws
    {
        var endpoint = ServerEndpoint()
        endpoint.compresses = true
        var server = try await TransportTrial.server(endpoint: endpoint)
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade(adding: ["Sec-WebSocket-Extensions: \(offer)"])
        let end = Array("\r\n\r\n".utf8)
        let head = String(decoding: await peer.read { $0.suffix(4) == end[...] }, as: UTF8.self)
        #expect(head.hasPrefix("HTTP/1.1 101 "))
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-extensions:") }
        #expect(line.map(String.init) == answer.map { "Sec-WebSocket-Extensions: \($0)" })
        #expect(try await server.opened().1.isCompressed == (answer != nil))
        await server.stop()
    }

    @Test func aServerWithoutCompressionDeclines() async throws {
        var server = try await TransportTrial.server()
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        #expect(try await server.opened().1.isCompressed == false)
        // A compressed message is therefore a protocol error.
        peer.frame(0xC1, [0x00])
        let end = try await server.ended()
        #expect(end == .protocolViolation(.protocolError))
        await server.stop()
    }

    @Test func anOversizedExtensionHeaderIsRefused() async throws {
        let server = try await TransportTrial.server()
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade(adding: ["Sec-WebSocket-Extensions: " + String(repeating: "x", count: 255)])
        let head = String(decoding: await peer.read { _ in false }, as: UTF8.self)
        #expect(head.hasPrefix("HTTP/1.1 431 "))
        await server.stop()
    }

    static let answers: [(String, DeflateAgreement?)] = [
        (name, DeflateAgreement()),
        ("\(name); server_no_context_takeover", DeflateAgreement(incomingContextTakeover: false)),
        ("\(name); client_no_context_takeover", DeflateAgreement(outgoingContextTakeover: false)),
        ("\(name); server_max_window_bits=9; client_max_window_bits=10", DeflateAgreement(outgoingWindowBits: 10)),
        ("\(name); client_max_window_bits=8", DeflateAgreement(outgoingWindowBits: 8)),
        ("\(name); client_max_window_bits", nil),
        ("\(name); server_max_window_bits=7", nil),
        ("\(name); client_max_window_bits=16", nil),
        ("\(name); server_no_context_takeover; server_no_context_takeover", nil),
        ("\(name); server_no_c", nil),
        ("\(name); unknown", nil),
        ("\(name), \(name)", nil),
        ("\(name); server_no_context_takeover, \(name), \(name)", nil),
        ("\(name), x-other", nil),
        ("x-other", nil),
    ]

    @Test(arguments: answers)
    func aClientChecksTheAnswerToItsOffer(answer: String, agreement: DeflateAgreement?) async throws {
        #expect(DeflateAgreement.negotiated(by: answer) == agreement)
        let host = try #require(RawHost())
        var client = try await TransportTrial.client()
        _ = client.transport.connect(to: .local(host.port) { $0.offersCompression = true })
        let peer = try #require(await host.accept())
        let request = String(decoding: await peer.readHead(), as: UTF8.self)
        let offers = ["", "; client_no_context_takeover"].map { "\(Self.name); client_max_window_bits\($0)" }
        #expect(request.contains("Sec-WebSocket-Extensions: \(offers.joined(separator: ", "))\r\n"))
        peer.write(Array(UpgradeAnswer.text(to: request, adding: ["Sec-WebSocket-Extensions: \(answer)"]).utf8))
        if agreement == nil {
            let end = try await client.ended()
            guard case .upgradeFailed = end else { throw UnexpectedEvent(.closed(.next(), end)) }
        } else {
            #expect(try await client.opened().1.isCompressed)
        }
        await client.stop()
    }

    @Test func anUnofferedExtensionIsRefused() async throws {
        let host = try #require(RawHost())
        var client = try await TransportTrial.client()
        _ = client.transport.connect(to: .local(host.port))
        let peer = try #require(await host.accept())
        await peer.answerUpgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        let end = try await client.ended()
        guard case .upgradeFailed = end else { throw UnexpectedEvent(.closed(.next(), end)) }
        await client.stop()
    }
}
