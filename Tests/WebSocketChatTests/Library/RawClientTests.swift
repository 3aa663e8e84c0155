import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct RawClientTests {
    @Test func fragmentsAreOneMessage() async throws {
        var server = try await Party.server()
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        _ = try await server.opened()
        peer.frame(0x01, Array("one ".utf8))
        peer.frame(0x89, [1, 2, 3])
        peer.frame(0x00, [])
        peer.frame(0x00, Array("two ".utf8))
        peer.frame(0x80, Array("three".utf8))
        peer.frame(0x81, Array("next".utf8))
        let whole = try await server.message()
        #expect(whole == Array("one two three".utf8))
        let next = try await server.message()
        #expect(next == Array("next".utf8))
        await server.stop()
    }

    @Test func binaryMessagesCanBeRefusedWith1003() async throws {
        var server = try await Party.server(.init(refusesBinary: true))
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        _ = try await server.opened()
        peer.frame(0x82, [1, 2, 3])
        let close: [UInt8] = [0x88, 11, 0x03, 0xEB] + Array("text only".utf8)
        let answer = await peer.read { $0.suffix(close.count) == close[...] }
        #expect(answer.suffix(close.count) == close[...])
        peer.frame(0x88, [0x03, 0xEB])
        let end = try await server.ended()
        #expect(end == .closedHere(.unacceptableData, reason: "text only"))
        await server.stop()
    }

    @Test func whatTheProtocolForbidsEndsTheConnection() async throws {
        var server = try await Party.server()
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        _ = try await server.opened()
        // A continuation of nothing.
        peer.frame(0x80, [0x61])
        let close: [UInt8] = [0x03, 0xEA]
        let answer = await peer.read { $0.suffix(30).firstRange(of: close) != nil }
        #expect(answer.suffix(30).firstRange(of: close) != nil)
        peer.frame(0x88, close)
        let end = try await server.ended()
        #expect(end == .brokeProtocol(.protocolError))
        await server.stop()
    }

    @Test func aPeerThatGoesWithoutAWordIsLost() async throws {
        var server = try await Party.server()
        do {
            let peer = try #require(RawPeer(port: server.transport.port))
            peer.upgrade()
            _ = try await server.opened()
        }
        let end = try await server.ended()
        #expect(end == .lost)
        await server.stop()
    }

    @Test func nothingButWebSocketIsUpgradedTo() async throws {
        let server = try await Party.server()
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.write(
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                + "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
        )
        let answer = String(decoding: await peer.read { _ in false }, as: UTF8.self)
        #expect(!answer.contains(" 101 "))
        await server.stop()
    }

    @Test func pagesAreServedFromMemory() async throws {
        var place = ServerPlace()
        let script = (0..<100_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        place.pages = [
            "/": ServedPage(
                contentType: "text/html",
                body: Array("<p>hello</p>".utf8),
                headers: [HeaderField("Content-Security-Policy", "default-src 'self'")].compactMap { $0 }
            ),
            "/bridge.js": ServedPage(contentType: "text/javascript", body: script),
            "/empty": ServedPage(contentType: "text/plain", body: []),
        ]
        let server = try await Party.server(place: place)
        func get(_ path: String, method: String = "GET") async throws -> String {
            let peer = try #require(RawPeer(port: server.transport.port))
            peer.write(
                "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
            return String(decoding: await peer.read { _ in false }, as: UTF8.self)
        }
        let page = try await get("/")
        #expect(page.hasPrefix("HTTP/1.1 200"))
        #expect(page.lowercased().contains("content-security-policy: default-src 'self'\r\n"))
        #expect(page.hasSuffix("\r\n\r\n<p>hello</p>"))
        #expect(try await get("/bridge.js").hasSuffix("\r\n\r\n" + String(decoding: script, as: UTF8.self)))
        #expect(try await get("/empty").hasSuffix("\r\n\r\n"))
        #expect(try await get("/none").hasPrefix("HTTP/1.1 404"))
        #expect(try await get("/", method: "POST").hasPrefix("HTTP/1.1 405"))
        await server.stop()
    }
}
