import Testing

@testable import BrokerKit
@testable import WebSocketChat

// One after another: each raw peer takes a thread of the system's pool.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DeflateNegotiationTests {
    private static let name = "permessage-deflate"

    // An offer, and what a server answers; `nil` where messages are not compressed.
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
        // The first that can be taken.
        ("\(name); unknown, \(name); server_max_window_bits=12, \(name)", "\(name); server_max_window_bits=12"),
        ("\(name); server_max_window_bits=7, \(name)", name),
        ("\(name), \(name); server_no_context_takeover", "\(name); server_no_context_takeover"),
        ("\(name), \(name)", name),
        // What is unknown, comes twice or is out of range is declined.
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

    @Test(arguments: offers) func aServerTakesTheFirstOfferThatItUnderstands(offer: String, answer: String?)
        async throws
    {
        var place = ServerPlace()
        place.compresses = true
        var server = try await Party.server(place: place)
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

    @Test func aServerThatDoesNotCompressDeclines() async throws {
        var server = try await Party.server()
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        #expect(try await server.opened().1.isCompressed == false)
        // So a compressed message is against the rules.
        peer.frame(0xC1, [0x00])
        let end = try await server.ended()
        #expect(end == .brokeProtocol(.protocolError))
        await server.stop()
    }

    @Test func moreOffersThanTheLibraryReadsAreRefused() async throws {
        let server = try await Party.server()
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade(adding: ["Sec-WebSocket-Extensions: " + String(repeating: "x", count: 255)])
        let head = String(decoding: await peer.read { _ in false }, as: UTF8.self)
        #expect(head.hasPrefix("HTTP/1.1 431 "))
        await server.stop()
    }

    static let answers: [(String, DeflateAgreement?)] = [
        (name, DeflateAgreement()),
        ("\(name); server_no_context_takeover", DeflateAgreement(incomingKeepsContext: false)),
        ("\(name); client_no_context_takeover", DeflateAgreement(outgoingKeepsContext: false)),
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
    func aClientFailsWhenTheAnswerIsNoneToItsOffer(answer: String, agreement: DeflateAgreement?) async throws {
        #expect(DeflateAgreement.told(by: answer) == agreement)
        let host = try #require(RawHost())
        var client = try await Party.client()
        _ = client.transport.connect(to: .local(host.port) { $0.offersCompression = true })
        let peer = try #require(await host.accept())
        await peer.answerUpgrade(adding: ["Sec-WebSocket-Extensions: \(answer)"])
        if agreement == nil {
            let end = try await client.ended()
            guard case .noUpgrade = end else { throw UnexpectedEvent(.closed(.next(), end)) }
        } else {
            #expect(try await client.opened().1.isCompressed)
        }
        await client.stop()
    }

    @Test func whatWasNotOfferedIsNotTaken() async throws {
        let host = try #require(RawHost())
        var client = try await Party.client()
        _ = client.transport.connect(to: .local(host.port))
        let peer = try #require(await host.accept())
        await peer.answerUpgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        let end = try await client.ended()
        guard case .noUpgrade = end else { throw UnexpectedEvent(.closed(.next(), end)) }
        await client.stop()
    }
}
