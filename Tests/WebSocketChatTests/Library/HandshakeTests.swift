import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct HandshakeTests {
    private func answer(_ port: UInt16, _ request: [UInt8]) async throws -> String {
        let peer = try #require(RawPeer(port: port))
        peer.write(request)
        return String(decoding: await peer.read { _ in false }, as: UTF8.self)
    }

    @Test(arguments: [
        (HTTPRefusal.unauthorized, "HTTP/1.1 401 Unauthorized\r\n"), (.forbidden, "HTTP/1.1 403 Forbidden\r\n"),
        (.notFound, "HTTP/1.1 404 Not Found\r\n"), (.unavailable, "HTTP/1.1 503 Service Unavailable\r\n"),
    ])
    func aRefusalIsShortAndHidesTheServerSoftware(decision: HTTPRefusal, line: String) async throws {
        let server = try await TransportTrial.server(.init(decide: { _ in decision }))
        // The read ends because the server closes the connection.
        let answer = try await answer(server.transport.port, RawPeer.request())
        #expect(answer.hasPrefix(line))
        #expect(answer.contains("\r\nConnection: close\r\n"))
        #expect(answer.contains("\r\nWWW-Authenticate: Bearer\r\n") == (decision == .unauthorized))
        #expect(!answer.lowercased().contains("server:"))
        #expect(!answer.lowercased().contains("libwebsockets"))
        let text = answer.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
        #expect(text.utf8.count < 80)
        #expect(answer.contains("\r\nContent-Length: \(text.utf8.count)\r\n"))
        await server.stop()
    }

    @Test(
        arguments: [
            ([:], ["Origin: https://a.example", "Origin: https://b.example"], 403),
            ([:], ["Origin: https://a.example", "Origin: https://a.example"], 403),
            ([:], ["Origin: https://a.example", "Origin:"], 403),
            ([:], ["Authorization: Bearer a", "Authorization: Bearer b"], 400),
            ([:], ["Host: other.example"], 400), ([:], ["Origin: https://a\u{1}b"], 400),
            ([:], ["Authorization: Bearer a\u{7F}"], 400),
            (["Host": nil], [], 400), (["Host": ""], [], 400),
            (["Sec-WebSocket-Version": "8"], [], 426), (["Sec-WebSocket-Version": nil], [], 426),
            (["Sec-WebSocket-Key": nil], [], 400), (["Sec-WebSocket-Key": "c2hvcnQ="], [], 400),
            (["Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=?"], [], 400),
            (["Connection": nil], [], 400), (["Connection": "keep-alive"], [], 400),
            (["Connection": "Upgrade, " + String(repeating: "x", count: 130)], [], 431),
            ([:], ["Sec-WebSocket-Protocol: unknown"], 400), ([:], ["Sec-WebSocket-Protocol: no subprotocol"], 400),
            ([:], ["Sec-WebSocket-Protocol: chat, " + String(repeating: "x", count: 130)], 431),
        ] as [([String: String?], [String], Int)]
    )
    func anInvalidUpgradeIsRefusedBeforeTheReceiverDecides(
        changes: [String: String?],
        more: [String],
        status: Int
    ) async throws {
        var endpoint = ServerEndpoint()
        endpoint.subprotocols = ["chat"]
        var server = try await TransportTrial.server(
            .init(decide: { request in
                Issue.record("the receiver was called with \(request)")
                return nil
            }),
            endpoint: endpoint
        )
        let answer = try await answer(server.transport.port, RawPeer.request("/chat", changes, adding: more))
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
        #expect(answer.contains("\r\nConnection: close\r\n"))
        #expect(answer.contains("\r\nSec-WebSocket-Version: 13\r\n") == (status == 426))
        #expect(await server.next() == .refused(status: status, from: "127.0.0.1"))
        await server.stop()
    }

    @Test func headersArePassedOnUntruncated() async throws {
        let (requests, continuation) = AsyncStream<UpgradeRequest>.makeStream()
        let server = try await TransportTrial.server(
            .init(decide: { request in
                continuation.yield(request)
                return .forbidden
            })
        )
        var iterator = requests.makeAsyncIterator()
        let long = "https://good.example" + String(repeating: "x", count: 4_000)
        let refused = try await answer(server.transport.port, RawPeer.request("/", adding: ["Origin: \t\(long) "]))
        #expect(refused.hasPrefix("HTTP/1.1 403 "))
        #expect(try #require(await iterator.next()).origin == long)
        // Longer than all headers together may be: `decide` is not called.
        let longer = String(repeating: "x", count: 20_000)
        for header in ["Origin: https://good.example\(longer)", "Authorization: Bearer \(longer)", "X: \(longer)"] {
            #expect(try await answer(server.transport.port, RawPeer.request("/", adding: [header])) == "")
        }
        let many = (0..<2_000).map { "X-\($0): \($0)" }
        #expect(try await answer(server.transport.port, RawPeer.request("/", adding: many)) == "")
        _ = try await answer(server.transport.port, RawPeer.request("/", adding: ["Origin:"]))
        #expect(try #require(await iterator.next()).origin == "")
        _ = try await answer(server.transport.port, RawPeer.request("/"))
        #expect(try #require(await iterator.next()).origin == nil)
        await server.stop()
    }

    @Test(arguments: [
        "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\n"
            + "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{FC}\u{3}\u{3}\r\n\r\n",
        "\u{81}\u{5}hello\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "GET /\0/ HTTP/1.1\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n",
        "GET http://other.example/ HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n\r\n", "GET / HTTP/1.1\r\nUpgrade: other\r\n\r\n",
    ])
    func otherRequestsAreNeverUpgraded(request: String) async throws {
        var limits = TransportLimits()
        limits.connectWithin = 1
        let server = try await TransportTrial.server(limits: limits)
        #expect(try await !answer(server.transport.port, Array(request.utf8)).contains(" 101 "))
        await server.stop()
    }

    // libwebsockets 4.1.6 calls back about an upgrade that it has already refused and freed.
    @Test func anUnknownUpgradeAfterADocumentIsRefused() async throws {
        var endpoint = ServerEndpoint()
        endpoint.pages = ["/": WebSocketPage(contentType: "text/plain", body: Array("page".utf8))]
        let server = try await TransportTrial.server(endpoint: endpoint)
        for _ in 0..<20 {
            let peer = try #require(RawPeer(port: server.transport.port))
            peer.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
            _ = await peer.read { $0.suffix(4) == Array("page".utf8)[...] }
            peer.write(RawPeer.request("/", ["Upgrade": "other"]))
            let answer = String(decoding: await peer.read { _ in false }, as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 403 "))
            #expect(!answer.lowercased().contains("libwebsockets"))
        }
        await server.stop()
    }

    @Test func headRequestsAreAnsweredWithoutABody() async throws {
        var endpoint = ServerEndpoint()
        endpoint.pages = ["/": WebSocketPage(contentType: "text/plain", body: Array("page".utf8))]
        let server = try await TransportTrial.server(endpoint: endpoint)
        let close = "Host: localhost\r\nConnection: close\r\n\r\n"
        let head = try await answer(server.transport.port, Array("HEAD / HTTP/1.1\r\n\(close)".utf8))
        #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(head.lowercased().contains("\r\ncontent-length: 4\r\n"))
        #expect(head.hasSuffix("\r\n\r\n"))
        let none = try await answer(server.transport.port, Array("HEAD /none HTTP/1.1\r\n\(close)".utf8))
        #expect(none.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(none.hasSuffix("\r\n\r\n"))
        let post = try await answer(
            server.transport.port,
            Array("POST / HTTP/1.1\r\nContent-Length: 0\r\n\(close)".utf8)
        )
        #expect(post.hasPrefix("HTTP/1.1 405 "))
        #expect(post.contains("\r\nAllow: GET, HEAD\r\n"))
        await server.stop()
    }

    @Test func anUnfinishedRequestTimesOut() async throws {
        var limits = TransportLimits()
        limits.connectWithin = 1
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var secured = ServerEndpoint()
        secured.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        for endpoint in [ServerEndpoint(), secured] {
            let server = try await TransportTrial.server(endpoint: endpoint, limits: limits)
            let silent = try #require(RawPeer(port: server.transport.port))
            #expect(await silent.read { _ in false } == [])
            let slow = try #require(RawPeer(port: server.transport.port))
            #expect(await slow.drip(RawPeer.request("/", adding: [String(repeating: "x", count: 500)])))
            await server.stop()
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        var endpoint = ServerEndpoint()
        endpoint.pages = ["/": WebSocketPage(contentType: "text/plain", body: Array("page".utf8))]
        var server = try await TransportTrial.server(.init(echoes: true), endpoint: endpoint)
        let peer = try #require(RawPeer(port: server.transport.port))
        let get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        peer.write(Array(String(repeating: get, count: 99).utf8) + RawPeer.request())
        let answers = String(
            decoding: await peer.read { received in
                received.suffix(4) == Array("\r\n\r\n".utf8)[...] && received.firstRange(of: Array(" 101 ".utf8)) != nil
            },
            as: UTF8.self
        )
        #expect(answers.split(separator: "HTTP/1.1 200 OK\r\n", omittingEmptySubsequences: false).count == 100)
        _ = try await server.opened()
        await server.stop()
    }
}

@Suite(.timeLimit(.minutes(10))) struct RawClientTests {
    @Test func fragmentsFormOneMessage() async throws {
        var server = try await TransportTrial.server()
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
        var server = try await TransportTrial.server(.init(refusesBinary: true))
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        _ = try await server.opened()
        peer.frame(0x82, [1, 2, 3])
        let close: [UInt8] = [0x88, 11, 0x03, 0xEB] + Array("text only".utf8)
        let answer = await peer.read { $0.suffix(close.count) == close[...] }
        #expect(answer.suffix(close.count) == close[...])
        peer.frame(0x88, [0x03, 0xEB])
        let end = try await server.ended()
        #expect(end == .closedLocally(.unacceptableData, reason: "text only"))
        await server.stop()
    }

    @Test func aProtocolViolationEndsTheConnection() async throws {
        var server = try await TransportTrial.server()
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        _ = try await server.opened()
        // A continuation without a message to continue.
        peer.frame(0x80, [0x61])
        let close: [UInt8] = [0x03, 0xEA]
        let answer = await peer.read { $0.suffix(30).firstRange(of: close) != nil }
        #expect(answer.suffix(30).firstRange(of: close) != nil)
        peer.frame(0x88, close)
        let end = try await server.ended()
        #expect(end == .protocolViolation(.protocolError))
        await server.stop()
    }

    @Test func aPeerThatLeavesWithoutACloseFrameIsLost() async throws {
        var server = try await TransportTrial.server()
        do {
            let peer = try #require(RawPeer(port: server.transport.port))
            peer.upgrade()
            _ = try await server.opened()
        }
        let end = try await server.ended()
        #expect(end == .lost)
        await server.stop()
    }

    @Test func anHTTP2UpgradeIsRefused() async throws {
        let server = try await TransportTrial.server()
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
        var endpoint = ServerEndpoint()
        let script = (0..<100_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        endpoint.pages = [
            "/": WebSocketPage(contentType: "text/html", body: Array("<p>hello</p>".utf8)),
            "/bridge.js": WebSocketPage(contentType: "text/javascript", body: script),
            "/empty": WebSocketPage(contentType: "text/plain", body: []),
        ]
        let server = try await TransportTrial.server(endpoint: endpoint)
        func get(_ path: String, method: String = "GET") async throws -> String {
            let peer = try #require(RawPeer(port: server.transport.port))
            peer.write(
                "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
            return String(decoding: await peer.read { _ in false }, as: UTF8.self)
        }
        let page = try await get("/")
        #expect(page.hasPrefix("HTTP/1.1 200"))
        let policy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        #expect(page.lowercased().contains("content-security-policy: \(policy)\r\n"))
        #expect(page.hasSuffix("\r\n\r\n<p>hello</p>"))
        #expect(try await get("/bridge.js").hasSuffix("\r\n\r\n" + String(decoding: script, as: UTF8.self)))
        #expect(try await get("/empty").hasSuffix("\r\n\r\n"))
        #expect(try await get("/none").hasPrefix("HTTP/1.1 404"))
        #expect(try await get("/", method: "POST").hasPrefix("HTTP/1.1 405"))
        await server.stop()
    }
}
