import AdapterSupport
import BrokerKit
import Foundation
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FeedProxyTests {
    private static let login = (user: "canary-user", password: "canary-pass")

    /// The configuration of a feed whose server's name only the proxy resolves.
    private static func configuration(
        _ proxy: TestProxy,
        _ port: UInt16,
        scheme: String = "ws",
        host: String = "feed.invalid",
        login: (user: String, password: String)? = nil
    ) throws -> WebSocketFeedConfiguration {
        var configuration = try WebSocketFeedConfiguration.test(port, scheme: scheme, host: host)
        configuration.proxy = try WebSocketProxy(proxy.url)
        configuration.proxy?.username = login?.user
        configuration.proxy?.password = login.map { .text($0.password) }
        return configuration
    }

    @Test(arguments: [TestProxy.Kind.http, .socks5], [false, true])
    func messagesPassThroughTheProxyOnEachConnection(kind: TestProxy.Kind, hasLogin: Bool) async throws {
        let login = hasLogin ? Self.login : nil
        var server = try await TransportTrial.server()
        let port = server.transport.port
        let proxy = try TestProxy(kind, login: login, forwardingTo: port)
        try await FeedTrial.run(Self.configuration(proxy, port, login: login)) { trial in
            for round in 1...3 {
                let id = try await server.openedBehindProxy()
                await trial.waitForLog("connected to ws://feed.invalid:\(port) through the proxy \(proxy.url)")
                server.send("{\"action\":\"a\(round)\"}", on: id)
                #expect(await trial.names(round).last == "a\(round)")
                try trial.feed.connection?.send(text: "reply")
                #expect(try await server.messageBehindProxy() == Array("reply".utf8))
                server.transport.perform(.close(.goingAway, reason: ""), on: id)
            }
            _ = try await server.openedBehindProxy()
            #expect(!trial.log.all.contains { $0.contains("canary") })
        }
        #expect(Set(proxy.destinations) == ["feed.invalid:\(port)"])
        proxy.close()
        await server.stop()
    }

    @Test func largeMessagesPassInBothDirections() async throws {
        var server = try await TransportTrial.server(limits: .roomy)
        let proxy = try TestProxy(.socks5, forwardingTo: server.transport.port)
        var configuration = try Self.configuration(proxy, server.transport.port)
        configuration.limits.bytes = 8 << 20
        configuration.waitingBytes = 16 << 20
        configuration.frames = WebSocketFrames(text: .action("text", .text))
        try await FeedTrial.run(configuration) { trial in
            let id = try await server.opened().0
            let text = String(repeating: "0123456789abcdef", count: 200_000)
            await trial.waitForLog("connected")
            try trial.feed.connection?.send(text: text)
            #expect(try await server.message() == Array(text.utf8))
            server.send(text, on: id)
            #expect(await trial.names(1) == ["text"])
        }
        proxy.close()
        await server.stop()
    }

    @Test func tlsIsEndToEnd() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var endpoint = ServerEndpoint()
        endpoint.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        var server = try await TransportTrial.server(endpoint: endpoint, limits: .unhurried)
        let port = server.transport.port
        let proxy = try TestProxy(.http, forwardingTo: port)
        var right = try Self.configuration(proxy, port, scheme: "wss", host: "localhost")
        right.trust = .authority(file: authority.authorityFile)
        try await FeedTrial.run(right) { _ in _ = try await server.opened() }
        // The certificate must be for the host of the URL, not for anything on the way.
        var wrong = try Self.configuration(proxy, port, scheme: "wss", host: "other.example")
        wrong.trust = .authority(file: authority.authorityFile)
        try await FeedTrial.run(wrong) { trial in
            let line = await trial.waitForLog("cannot secure the connection to wss://other.example")
            #expect(line.contains("certificate"))
        }
        proxy.close()
        await server.stop()
    }

    @Test(arguments: [
        (
            "HTTP/1.1 407 A canary-pass\r\n\r\n",
            "refused the login. Check the user name and the password", true
        ),
        ("HTTP/1.1 403 No\r\n\r\n", "did not connect to feed.invalid:9: status 403. It does not allow this host", true),
        ("HTTP/1.1 502 No\r\n\r\n", "status 502. It cannot reach the server", false),
        ("SSH-2.0-x\r\n", "is not that of an HTTP proxy", true), ("HTTP/1.1 200", "without a complete answer", false),
    ])
    func aRefusalNamesTheProxyAndWhatToDo(answer: String, words: String, isError: Bool) async throws {
        let proxy = try TestProxy(.http)
        proxy.answer(Array(answer.utf8))
        let configuration = try Self.configuration(proxy, 9, login: Self.login)
        try await FeedTrial.run(configuration) { trial in
            let line = await trial.waitForLog(words)
            #expect(line.hasPrefix(isError ? "error feed: " : "warning feed: "), "\(line)")
            #expect(line.contains(proxy.url), "\(line)")
            #expect(!trial.log.all.contains { $0.contains("canary") })
        }
        proxy.close()
    }

    @Test func aSilentProxyIsLeftAtTheDeadline() async throws {
        let proxy = try TestProxy(.http)
        proxy.answer([])
        var configuration = try Self.configuration(proxy, 9)
        configuration.connectTimeout = .seconds(1)
        try await FeedTrial.run(configuration) { trial in
            let line = await trial.waitForLog("opened no connection to feed.invalid:9 within 1.0 s")
            #expect(line.contains(proxy.url))
        }
        proxy.close()
    }

    @Test func anUnreadablePasswordAndAnUnknownProxyAreReported() async throws {
        var environment = FeedEnvironment()
        environment.resolve = { _ in .failure(.notResolved("no such name")) }
        var configuration = try WebSocketFeedConfiguration.test(9)
        configuration.proxy = try WebSocketProxy("socks5://proxy.invalid")
        try await FeedTrial.run(configuration, environment) { trial in
            await trial.waitForLog("cannot resolve the host of the proxy socks5://proxy.invalid:1080: no such name")
        }
        configuration.proxy?.username = "u"
        configuration.proxy?.password = .environment("SIGNALBOX_TEST_NO_SUCH_VARIABLE")
        try await FeedTrial.run(configuration, environment) { trial in
            await trial.waitForLog("the environment variable SIGNALBOX_TEST_NO_SUCH_VARIABLE is not set")
        }
    }

    @Test func aFeedStopsWhileItsProxyIsSilent() async throws {
        let proxy = try TestProxy(.http)
        proxy.answer([])
        try await FeedTrial.run(Self.configuration(proxy, 9)) { _ in await proxy.untilAsked(1) }
        proxy.close()
    }

    /// The server behind the proxy ends each connection at once. No text mentions the socket that leads to the tunnel.
    @Test(arguments: ["ws", "wss"]) func aServerThatHangsUpIsNotTheSocketsFault(_ scheme: String) async throws {
        let proxy = try TestProxy(.http)
        proxy.answer(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
        let configuration = try Self.configuration(proxy, 9, scheme: scheme)
        try await FeedTrial.run(configuration) { trial in
            await proxy.untilAsked(20)
            await trial.waitForLog("feed.invalid:9")
            #expect(!trial.log.all.contains { $0.contains("/signalbox-") })
        }
        proxy.close()
    }

    /// The silent proxy holds a thread for as long as an attempt lasts. The name lookup of another feed needs none of them.
    @Test func aSilentProxyDelaysNoOtherFeed() async throws {
        var environment = FeedEnvironment()
        (environment.threadPool, environment.proxyPool) = (BlockingThreadPool(limit: 1), BlockingThreadPool(limit: 1))
        environment.resolve = { _ in .success(["127.0.0.1"]) }
        var server = try await TransportTrial.server()
        let proxy = try TestProxy(.http)
        proxy.answer([])
        var stalled = try Self.configuration(proxy, 9)
        stalled.connectTimeout = .seconds(60)
        let direct = try WebSocketFeedConfiguration.test(server.transport.port, host: "feed.invalid")
        try await FeedTrial.run(stalled, environment) { [environment] _ in
            await proxy.untilAsked(1)
            try await FeedTrial.run(direct, environment) { _ in _ = try await server.opened() }
            #expect(environment.proxyPool.running == 1)
        }
        proxy.close()
        await server.stop()
    }

    /// Jobs are numbered in each pool separately.
    @Test func aStopCancelsNoLookupOfAnotherFeed() async throws {
        var environment = FeedEnvironment()
        // Without threads, the first job of this pool waits.
        let names = BlockingThreadPool(limit: 0)
        (environment.threadPool, environment.proxyPool) = (names, BlockingThreadPool(limit: 1))
        _ = names.perform { _ in }
        let proxy = try TestProxy(.http)
        proxy.answer([])
        var stalled = try Self.configuration(proxy, 9)
        stalled.connectTimeout = .seconds(60)
        try await FeedTrial.run(stalled, environment) { _ in await proxy.untilAsked(1) }
        #expect(names.waiting == 1)
        proxy.close()
    }

    @Test func nothingIsLeftAfterFeedsAndRefusals() async throws {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("feeds-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            setenv("TMPDIR", folder.path, 1)
            var server = try await TransportTrial.server()
            let proxy = try TestProxy(.http, forwardingTo: server.transport.port)
            func connections(_ count: Int) async throws {
                try await FeedTrial.run(Self.configuration(proxy, server.transport.port)) { _ in
                    for round in 1...count {
                        let id = try await server.openedBehindProxy()
                        guard round < count else { continue }
                        server.transport.perform(.close(.goingAway, reason: ""), on: id)
                    }
                }
                let refusing = try TestProxy(.socks5)
                refusing.answer([5, 0xFF])
                try await FeedTrial.run(Self.configuration(refusing, 9)) { _ in await refusing.untilAsked(count) }
                refusing.close()
            }
            try await connections(3)
            let before = Self.counts
            try await connections(50)
            // Threads end just after they have told their end. What 50 rounds leave behind is at least
            // 50, while the system's queues may have added a few threads. The suite's limit ends this loop.
            while Self.counts.descriptors >= before.descriptors + 25 || Self.counts.threads >= before.threads + 25 {
                sched_yield()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
            proxy.close()
            await server.stop()
        }
    }

    private static var counts: (descriptors: Int, threads: Int) {
        let count = { (path: String) in (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0 }
        return (count("/proc/self/fd"), count("/proc/self/task"))
    }
}

/// Behind a proxy, the server may learn the end of a connection only after the next one has opened.
extension TransportTrial {
    fileprivate mutating func openedBehindProxy() async throws -> ConnectionID {
        let event = try await nextButEnds()
        guard case .opened(let id, _) = event else { throw UnexpectedEvent(event) }
        return id
    }

    fileprivate mutating func messageBehindProxy() async throws -> [UInt8] {
        let event = try await nextButEnds()
        guard case .message(_, let bytes, _) = event else { throw UnexpectedEvent(event) }
        return bytes
    }

    private mutating func nextButEnds() async throws -> TransportEvent {
        while true {
            let event = try await nextEvent()
            if case .closed = event { continue }
            return event
        }
    }
}

@Suite struct WebSocketProxyTests {
    @Test(arguments: [
        ("http://proxy.example:3128", "http://proxy.example:3128"), ("http://proxy.example", "http://proxy.example:80"),
        ("socks5://proxy.example", "socks5://proxy.example:1080"), ("socks5://127.0.0.1:9/", "socks5://127.0.0.1:9"),
        ("http://[::1]:8080", "http://[::1]:8080"), ("socks5://[::1]:8080", "socks5://[::1]:8080"),
    ])
    func aURLIsRead(text: String, description: String) throws {
        #expect(try WebSocketProxy(text).description == description)
    }

    @Test(arguments: [
        "", "proxy.example:3128", "https://proxy.example", "socks4://proxy.example", "socks5h://proxy.example",
        "http://canary@proxy.example", "http://canary:canary@proxy.example:1", "http://proxy.example/canary",
        "http://proxy.example?canary", "http://proxy.example#canary", "http://proxy.example:0", "socks5://canary%41",
        "http://", "socks5://canary b", "http://proxy.example:99999",
    ])
    func anotherURLIsRefusedWithoutItsText(text: String) {
        do throws(WebSocketChatError) {
            _ = try WebSocketProxy(text)
            Issue.record("\(text) is refused")
        } catch {
            #expect(error.code == .invalidURL)
            #expect(error.detail.hasPrefix("a proxy's URL must"))
            #expect(!error.detail.contains("canary"))
        }
    }

    @Test func aLoginNeedsBothPartsAndMustBeSendable() throws {
        var configuration = try WebSocketFeedConfiguration.test(9)
        func problem(_ proxy: String, _ user: String?, _ password: Secret?) throws -> String? {
            configuration.proxy = try WebSocketProxy(proxy)
            configuration.proxy?.username = user
            configuration.proxy?.password = password
            do throws(WebSocketChatError) {
                try configuration.validate()
                return nil
            } catch {
                return error.detail
            }
        }
        #expect(try problem("http://p", "user", .environment("X")) == nil)
        #expect(try problem("http://p", "user", nil)?.contains("both") == true)
        #expect(try problem("http://p", nil, .environment("X"))?.contains("both") == true)
        #expect(try problem("http://p", "a:b", .environment("X"))?.contains("colon") == true)
        #expect(try problem("socks5://p", "a:b", .environment("X")) == nil)
        #expect(try problem("socks5://p", String(repeating: "a", count: 256), .text("x"))?.contains("255") == true)
        #expect(try problem("http://p", "u", .text("a\nb"))?.contains("control characters") == true)
    }
}
