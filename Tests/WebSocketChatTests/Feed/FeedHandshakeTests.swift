import Foundation
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

/// Answers of a server to a feed's upgrade request.
@Suite(.timeLimit(.minutes(10))) struct FeedAnswerTests {
    @Test func anUnansweredHandshakeTimesOut() async throws {
        let silent = try QuietListener()
        let configuration = try WebSocketFeedConfiguration.test(UInt16(silent.port)) {
            $0.connectTimeout = .seconds(10)
        }
        try await FeedTrial.run(configuration, FeedTimes(step: .seconds(30)).environment) { trial in
            let line = await trial.waitForLog("did not open the connection within 10.0 s")
            #expect(line.hasPrefix("warning feed: ws://127.0.0.1:\(silent.port) "))
        }
    }

    @Test func aServerWithoutWebSocketIsLogged() async throws {
        let server = try #require(FakeServer { _ in "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" })
        try await FeedTrial.run(.test(server.port)) { trial in
            let line = await trial.waitForLog("feed: ws://127.0.0.1:\(server.port)")
            #expect(line.contains("status 200") || line.contains("did not accept the WebSocket upgrade"))
        }
    }

    @Test func aRedirectionIsNotFollowed() async throws {
        let server = try #require(
            FakeServer { _ in "HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n" }
        )
        try await FeedTrial.run(.test(server.port)) { trial in
            let line = await trial.waitForLog("Redirects are not followed")
            #expect(line.hasPrefix("error "))
        }
    }

    @Test func longHandshakesSucceed() async throws {
        let cookie = "Set-Cookie: a=\(String(repeating: "b", count: 6_000))"
        let server = try #require(
            FakeServer { UpgradeAnswer.text(to: $0, adding: [cookie, "Sec-WebSocket-Protocol: p"]) }
        )
        let port = ":\(server.port)"
        let label = String(repeating: "h", count: 54)
        let host = "\(label).\(label)." + String(repeating: "h", count: ClientTarget.hostLimit - 110 - port.utf8.count)
        let path = String(repeating: "p", count: ClientTarget.pathLimit - 1)
        let value = String(repeating: "v", count: 8_000)
        let offered = ["p", String(repeating: "q", count: 1_023)]
        var configuration = try WebSocketFeedConfiguration.test(server.port)
        configuration.url = try WebSocketURL("ws://\(host)\(port)/\(path)")
        configuration.origin = String(repeating: "o", count: ClientTarget.originLimit)
        configuration.subprotocols = offered
        configuration.headers = [WebSocketHeader("X-Long", .text(value))]
        var environment = FeedEnvironment()
        environment.resolve = { _ in .success(["127.0.0.1"]) }
        try await FeedTrial.run(configuration, environment) { trial in
            await trial.waitForLog("connected to")
            let lines = try #require(server.requests.all.first).split(separator: "\r\n").map(String.init)
            #expect(lines[0] == "GET /\(path) HTTP/1.1")
            #expect(lines.contains("Host: \(host)\(port)"))
            #expect(lines.contains("Origin: \(configuration.origin ?? "")"))
            #expect(lines.contains("Sec-WebSocket-Protocol: \(offered.joined(separator: ", "))"))
            #expect(lines.contains { $0.lowercased() == "x-long: \(value)" })
        }
    }

    @Test func theNegotiatedSubprotocolIsAFact() async throws {
        var endpoint = ServerEndpoint()
        endpoint.subprotocols = ["v2"]
        var server = try await TransportTrial.server(endpoint: endpoint)
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.subprotocols = ["v3", "v2"]
        }
        try await FeedTrial.run(configuration) { trial in
            let id = try await server.opened().0
            server.send("{\"action\":\"tick\"}", on: id)
            let taken = try #require(await trial.intake.taken.first(1).first)
            let facts = try #require(taken.arrival.origin.facts as? ChatFacts)
            #expect(facts == ChatFacts(role: .feed, peer: "127.0.0.1:\(server.transport.port)", subprotocol: "v2"))
            #expect((taken.arrival.sender as? ChatConnection)?.id == trial.feed.connection?.id)
            #expect(await trial.waitForLog("connected to").contains("subprotocol v2"))
        }
        await server.stop()
    }

    @Test func aServerThatSelectsNoOfferedSubprotocolIsRefused() async throws {
        let server = try #require(FakeServer { UpgradeAnswer.text(to: $0) })
        let configuration = try WebSocketFeedConfiguration.test(server.port) { $0.subprotocols = ["v3", "v2"] }
        try await FeedTrial.run(configuration) { trial in
            let line = await trial.waitForLog("selected none of the offered subprotocols")
            #expect(line.hasPrefix("error "))
            #expect(trial.feed.counts.connections == 0)
        }
    }

    @Test(arguments: [[], ["v2"]])
    func anUnofferedSubprotocolIsRefused(offered: [String]) async throws {
        let server = try #require(FakeServer { UpgradeAnswer.text(to: $0, adding: ["Sec-WebSocket-Protocol: other"]) })
        let configuration = try WebSocketFeedConfiguration.test(server.port) { $0.subprotocols = offered }
        try await FeedTrial.run(configuration) { trial in
            await trial.waitForLog("retrying in")
            #expect(trial.feed.counts.connections == 0)
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct FeedLoginTests {
    // The example of RFC 7617, 2, and a user without a password.
    @Test(
        arguments: [
            ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("test", "123\u{A3}", "Basic dGVzdDoxMjPCow=="),
            ("key", nil, "Basic a2V5Og=="),
        ] as [(String, String?, String)]
    )
    func aLoginIsSentAsBasicCredentials(user: String, password: String?, header: String) async throws {
        var server = try await TransportTrial.server()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("password-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        if let password { try Data("\(password)\n".utf8).write(to: file) }
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.login = WebSocketLogin(username: .text(user), password: password.map { _ in .file(file.path) })
        }
        try await FeedTrial.run(configuration) { _ in
            let request = try await server.opened().1.request
            #expect(request?.authorization == header)
        }
        await server.stop()
    }

    @Test func aNameWithAColonIsNotSent() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("name-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("canary:a".utf8).write(to: file)
        let configuration = try WebSocketFeedConfiguration.test(9) { $0.login = .init(username: .file(file.path)) }
        try await FeedTrial.run(configuration) { trial in
            let line = await trial.waitForLog("the user name contains a colon")
            #expect(line.hasPrefix("error ") && !line.contains("canary"))
        }
    }

    @Test func aRefusedLoginNamesTheUser() async throws {
        let server = try await TransportTrial.server(.init(decide: { _ in .unauthorized }))
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.login = .init(username: .text("u"), password: .text("p"))
        }
        try await FeedTrial.run(configuration) { trial in
            await trial.waitForLog("status 401. Check the user name and password")
        }
        await server.stop()
    }
}

@Suite(.timeLimit(.minutes(10))) struct FeedSecurityTests {
    private func server(_ authority: TestAuthority) async throws -> TransportTrial<LibraryTransport> {
        var endpoint = ServerEndpoint()
        endpoint.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        return try await TransportTrial.server(endpoint: endpoint)
    }

    @Test func aFeedResolvesTheHostAndVerifiesItsCertificate() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var server = try await server(authority)
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port, scheme: "wss", host: "localhost")
        {
            $0.trust = .authority(file: authority.authorityFile)
        }
        try await FeedTrial.run(configuration) { trial in
            let id = try await server.opened().0
            server.send("{\"action\":\"tick\"}", on: id)
            let taken = try #require(await trial.intake.taken.first(1).first)
            let facts = try #require(taken.arrival.origin.facts as? ChatFacts)
            #expect(facts.tls)
            #expect(facts.peer == "localhost:\(server.transport.port)")
        }
        await server.stop()
    }

    @Test(arguments: [true, false])
    func anUntrustedServerIsAnErrorAndRetriedSlowly(wrongHost: Bool) async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let server = try await server(authority)
        let times = FeedTimes()
        var environment = times.environment
        environment.resolve = { _ in .success(["127.0.0.1"]) }
        let host = wrongHost ? "other.example" : "localhost"
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port, scheme: "wss", host: host) {
            if wrongHost { $0.trust = .authority(file: authority.authorityFile) }
        }
        try await FeedTrial.run(configuration, environment) { trial in
            let line = await trial.waitForLog("cannot secure")
            #expect(
                line.hasPrefix(
                    "error feed: cannot secure the connection to wss://\(host):\(server.transport.port): "
                )
            )
            #expect(line.contains("Check the trusted authorities"))
            #expect(await times.waits.first(1) == [.milliseconds(10)])
            #expect(trial.feed.counts.connections == 0)
        }
        await server.stop()
    }

    @Test func trustingAnyCertificateIsLoggedAsAWarning() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var server = try await server(authority)
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port, scheme: "wss") {
            $0.trust = .anything
        }
        try await FeedTrial.run(configuration) { trial in
            _ = try await server.opened()
            let line = await trial.waitForLog("is not verified")
            #expect(line.hasPrefix("warning feed: the certificate of wss://127.0.0.1:"))
        }
        await server.stop()
    }

    @Test func aFeedPresentsItsClientCertificate() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let identity = try await authority.makeClient()
        let openSSL = try await OpenSSLServer.start(authority)
        let configuration = try WebSocketFeedConfiguration.test(openSSL.port, scheme: "wss", host: "localhost") {
            $0.trust = .authority(file: authority.authorityFile)
            $0.identity = identity
        }
        try await FeedTrial.run(configuration) { trial in
            #expect(await openSSL.read(until: ["GET /chat?token", "\r\n\r\n"]).contains("CN = client"))
            openSSL.write("HTTP/1.1 418 I'm a teapot\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await trial.waitForLog("status 418")
        }
        await openSSL.end()
    }
}

@Suite(.timeLimit(.minutes(10))) struct FeedUnixSocketTests {
    /// Returns the path of a new socket. It is short enough for every system.
    private static var path: String {
        FileManager.default.temporaryDirectory.appendingPathComponent("s-\(UUID().uuidString.prefix(8))").path
    }

    @Test(arguments: ["ws", "wss"]) func aFeedConnectsToAUnixSocket(scheme: String) async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var endpoint = ServerEndpoint()
        if scheme == "wss" {
            endpoint.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        }
        var server = try await TransportTrial.server(endpoint: endpoint)
        let path = Self.path
        let relay = try Relay(unixSocket: path)
        defer { unlink(path) }
        relay.forward(to: server.transport.port)
        // Nothing listens on the URL's port, and its host must still be that of the certificate.
        let configuration = try WebSocketFeedConfiguration.test(9, scheme: scheme, host: "localhost") {
            if scheme == "wss" { $0.trust = .authority(file: authority.authorityFile) }
            $0.unixSocket = path
        }
        var environment = FeedEnvironment()
        environment.resolve = { _ in .failure(.notResolved("a Unix socket needs no lookup")) }
        try await FeedTrial.run(configuration, environment) { trial in
            let (id, handshake) = try await server.opened()
            #expect(handshake.request?.host == "localhost:9")
            server.send("{\"action\":\"tick\"}", on: id)
            let taken = try #require(await trial.intake.taken.first(1).first)
            let facts = try #require(taken.arrival.origin.facts as? ChatFacts)
            #expect(facts.peer == "unix:\(path)" && facts.tls == (scheme == "wss"))
            await trial.waitForLog("connected to \(scheme)://localhost:9, Unix socket \(path)")
        }
        relay.close()
        await server.stop()
    }

    #if os(Linux)
    @Test func aFeedConnectsToAnAbstractSocket() async throws {
        var server = try await TransportTrial.server()
        let name = "@signalbox-\(UUID().uuidString)"
        let relay = try Relay(unixSocket: name)
        relay.forward(to: server.transport.port)
        let configuration = try WebSocketFeedConfiguration.test(9) { $0.unixSocket = name }
        try await FeedTrial.run(configuration) { _ in _ = try await server.opened() }
        relay.close()
        await server.stop()
    }
    #endif

    @Test func theCertificateIsCheckedAgainstTheURLsHost() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var endpoint = ServerEndpoint()
        endpoint.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        let server = try await TransportTrial.server(endpoint: endpoint)
        let path = Self.path
        let relay = try Relay(unixSocket: path)
        defer { unlink(path) }
        relay.forward(to: server.transport.port)
        let configuration = try WebSocketFeedConfiguration.test(9, scheme: "wss", host: "other.example") {
            $0.trust = .authority(file: authority.authorityFile)
            $0.unixSocket = path
        }
        try await FeedTrial.run(configuration) { trial in await trial.waitForLog("hostname mismatch") }
        relay.close()
        await server.stop()
    }

    @Test func aMissingSocketIsReportedWithItsPath() async throws {
        let path = Self.path
        let configuration = try WebSocketFeedConfiguration.test(9) { $0.unixSocket = path }
        try await FeedTrial.run(configuration) { trial in
            let line = await trial.waitForLog("retrying in")
            #expect(
                line.contains(
                    "cannot reach ws://127.0.0.1:9: no server accepts connections on the Unix socket \(path): "
                )
            )
        }
    }
}
