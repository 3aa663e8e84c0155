import AdapterSupport
import Foundation
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FeedConnectingTests {
    private static func text(_ message: [UInt8]) -> String { String(decoding: message, as: UTF8.self) }

    @Test func openingMessagesPrecedeOthersOnEachConnection() async throws {
        var server = try await TransportTrial.server()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.openingMessages = ["{\"subscribe\":1}", "second", ""]
        }
        try await FeedTrial.run(configuration) { trial in
            for round in 1...3 {
                let id = try await server.opened().0
                for expected in configuration.openingMessages {
                    #expect(Self.text(try await server.message()) == expected)
                }
                await trial.waitForLog("connected to ws://127.0.0.1:\(server.transport.port)")
                try trial.feed.connection?.send(text: "after \(round)")
                #expect(Self.text(try await server.message()) == "after \(round)")
                server.transport.perform(.close(.goingAway, reason: "restart"), on: id)
                _ = try await server.ended()
            }
        }
        await server.stop()
    }

    @Test func theDelayGrowsUntilAConnectionLasts() async throws {
        var server = try await TransportTrial.server()
        let times = FeedTimes()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.reconnect = WebSocketReconnect(first: .milliseconds(500), cap: .seconds(3), holds: .seconds(10))
        }
        try await FeedTrial.run(configuration, times.environment) { trial in
            for round in 1...5 {
                let id = try await server.opened().0
                if round == 5 {
                    // Otherwise the feed might notice the open connection only after the clock has advanced.
                    server.send("{\"action\":\"a\"}", on: id)
                    _ = await trial.names(1)
                    times.advance(by: .seconds(10))
                }
                server.transport.perform(.close(.internalError, reason: ""), on: id)
                _ = try await server.ended()
                _ = await times.waits.first(round)
                times.releaseWaits()
            }
            let waits = times.waits.all.map { $0 / .milliseconds(1) }
            #expect(waits == [500, 1_000, 2_000, 3_000, 500])
            #expect(
                trial.log.all.contains { $0.contains("warning feed: ws://127.0.0.1") && $0.contains("1011") }
            )
            _ = try await server.opened()
        }
        await server.stop()
    }

    @Test(arguments: [
        (HTTPRefusal.unauthorized, "401. Set a bearer token"), (.forbidden, "403"), (.notFound, "404"),
    ])
    func aConfigurationRefusalIsAnErrorAndRetriedSlowly(
        decision: HTTPRefusal,
        expected: String
    ) async throws {
        let server = try await TransportTrial.server(.init(decide: { _ in decision }))
        let times = FeedTimes()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.reconnect = WebSocketReconnect(first: .milliseconds(1), slow: .seconds(40) ... .seconds(41))
        }
        try await FeedTrial.run(configuration, times.environment) { trial in
            let line = await trial.waitForLog("refused the connection: status \(expected)")
            #expect(line.hasPrefix("error feed: ws://127.0.0.1:\(server.transport.port) refused"))
            #expect(line.contains("retrying in 41.0 s"))
            #expect(await times.waits.first(1) == [.seconds(41)])
            #expect(trial.feed.counts.failures == 1)
            #expect(trial.feed.connection == nil)
            #expect(!trial.log.all.contains { $0.contains("canary") })
        }
        await server.stop()
    }

    @Test func aBusyServerIsRetriedSoon() async throws {
        let server = try await TransportTrial.server(.init(decide: { _ in .unavailable }))
        let times = FeedTimes()
        try await FeedTrial.run(.test(server.transport.port), times.environment) { trial in
            let line = await trial.waitForLog("status 503")
            #expect(line.hasPrefix("warning "))
            #expect(await times.waits.first(1) == [.milliseconds(1)])
        }
        await server.stop()
    }

    @Test func secretsAreReadForEachConnectionAndNeverLogged() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("feed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("token")
        let seen = EventList<String>()
        var server = try await TransportTrial.server(
            .init(decide: { request in
                seen.append(request.authorization ?? "none")
                return request.authorization == "Bearer canary-right" ? nil : .unauthorized
            })
        )
        let times = FeedTimes()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) { $0.bearer = .file(file.path) }
        try await FeedTrial.run(configuration, times.environment) { trial in
            let line = await trial.waitForLog("cannot be read")
            #expect(line.hasPrefix("error feed: cannot connect to ws://"))
            #expect(line.contains("file \(file.path) cannot be read"))
            try "canary-wrong\n".write(to: file, atomically: true, encoding: .utf8)
            times.releaseWaits()
            await trial.waitForLog("status 401")
            try "a\u{1}b".write(to: file, atomically: true, encoding: .utf8)
            times.releaseWaits()
            _ = await times.waits.first(3)
            try "canary-right\n".write(to: file, atomically: true, encoding: .utf8)
            times.releaseWaits()
            _ = try await server.opened()
            #expect(seen.all == ["Bearer canary-wrong", "Bearer canary-right"])
            #expect(trial.feed.counts.failures == 3)
            #expect(!trial.log.all.contains { $0.contains("canary") })
        }
        await server.stop()
    }

    @Test func aHeaderValueWithControlCharactersIsRefused() throws {
        var configuration = WebSocketFeedConfiguration(source: "feed", url: try .local)
        configuration.headers = [WebSocketHeader("X-Key", .text("a\r\nInjected: b"))]
        let made = FeedPreparation.make(configuration) { _ in .success(["127.0.0.1"]) }
        #expect(throws: DisconnectReason.self) { try made.get() }
    }

    @Test func eachAddressOfAHostIsTried() async throws {
        let (requests, continuation) = AsyncStream<UpgradeRequest>.makeStream()
        var server = try await TransportTrial.server(
            .init(decide: { request in
                continuation.yield(request)
                return nil
            })
        )
        let port = server.transport.port
        var environment = FeedEnvironment()
        environment.resolve = { $0 == "server.test" ? .success(["::1", "127.0.0.2", "127.0.0.1"]) : .success([]) }
        let configuration = try WebSocketFeedConfiguration.test(port, host: "server.test") {
            $0.origin = "https://app.example"
            $0.headers = [WebSocketHeader("X-Plain", .text("v"))]
        }
        try await FeedTrial.run(configuration, environment) { trial in
            let request = try #require(await requests.first { _ in true })
            #expect(request.host == "server.test:\(port)")
            #expect(request.path == "/chat")
            #expect(request.query == ["token=canary-7c1e"])
            #expect(request.origin == "https://app.example")
            _ = try await server.opened()
            await trial.waitForLog("connected to ws://server.test:\(port)")
            #expect(trial.feed.counts == counts(connections: 1))
        }
        await server.stop()
    }

    private func counts(connections: Int = 0, failures: Int = 0) -> WebSocketFeedCounts {
        var counts = WebSocketFeedCounts()
        counts.connections = connections
        counts.failures = failures
        return counts
    }

    @Test func aHostWithoutAnAddressIsLoggedAndRetried() async throws {
        let names = EventList<String>()
        var environment = FeedEnvironment()
        environment.resolve = { name in
            names.append(name)
            return .failure(.notResolved("no such host"))
        }
        try await FeedTrial.run(.test(1, host: "server.test"), environment) { trial in
            let line = await trial.waitForLog("cannot resolve the host of ws://server.test:1: no such host")
            #expect(line.hasPrefix("warning "))
            #expect(await names.first(3) == ["server.test", "server.test", "server.test"])
        }
    }

    @Test func aHangingLookupTimesOut() async throws {
        let lookups = EventList<Void>()
        let mayEnd = DispatchSemaphore(value: 0)
        var environment = FeedTimes(step: .seconds(30)).environment
        environment.threadPool = BlockingThreadPool(limit: 1)
        environment.resolve = { _ in
            lookups.append(contentsOf: [()])
            mayEnd.wait()
            return .success(["127.0.0.1"])
        }
        let threadPool = environment.threadPool
        let configuration = try WebSocketFeedConfiguration.test(1, host: "server.test") {
            $0.connectTimeout = .seconds(10)
        }
        try await FeedTrial.run(configuration, environment) { trial in
            let line = await trial.waitForLog("were not available within 10.0 s")
            #expect(line.hasPrefix("warning "))
            #expect(lookups.all.count == 1)
            #expect(threadPool.running == 1)
            #expect(threadPool.waiting == 0)
        }
        mayEnd.signal()
    }

    @Test func compressionRequiresBothSides() async throws {
        var endpoint = ServerEndpoint()
        endpoint.compresses = true
        var server = try await TransportTrial.server(endpoint: endpoint)
        for compresses in [true, false] {
            let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
                $0.compression = compresses
            }
            try await FeedTrial.run(configuration) { trial in
                let id = try await server.opened().0
                #expect(await trial.waitForLog("connected to").contains("compressed") == compresses)
                server.send("{\"action\":\"tick\"}", on: id)
                #expect(await trial.names(1) == ["tick"])
            }
            _ = try await server.ended()
        }
        await server.stop()
    }

    @Test func anUnansweredPingEndsTheConnection() async throws {
        let server = try #require(FakeServer { UpgradeAnswer.text(to: $0) })
        let times = FeedTimes(step: .seconds(4))
        try await FeedTrial.run(.impatient(server.port), times.environment) { trial in
            let line = await trial.waitForLog("did not answer a ping")
            #expect(line.hasPrefix("warning feed: ws://127.0.0.1:\(server.port) did not answer"))
            #expect(trial.feed.counts.unanswered >= 1)
            _ = await server.requests.first(2)
        }
    }

    @Test func aPausedConnectionIsNotConsideredDead() async throws {
        var server = try await TransportTrial.server()
        let times = FeedTimes(step: .seconds(2))
        let intake = RecordingIntake(room: 1)
        let configuration = try WebSocketFeedConfiguration.impatient(server.transport.port, pongWithin: .seconds(30))
        try await FeedTrial.run(configuration, times.environment, into: intake) { trial in
            let id = try await server.opened().0
            for number in 0..<3 { server.send("{\"action\":\"a\(number)\"}", on: id) }
            _ = await intake.roomCalls.first(1)
            let clockReads = times.clockReads.value
            // At least twenty ticks. A connection that is read would be dropped after seventeen.
            await times.clockReads.until { $0 >= clockReads + 20 }
            intake.makeRoom(2)
            #expect(await trial.names(3) == ["a0", "a1", "a2"])
            #expect(trial.feed.counts.unanswered == 0)
            #expect(trial.feed.counts.connections == 1)
        }
        await server.stop()
    }

    @Test func aServerThatAnswersPingsStaysConnected() async throws {
        var server = try await TransportTrial.server()
        let times = FeedTimes(step: .seconds(2))
        let configuration = try WebSocketFeedConfiguration.impatient(server.transport.port, pongWithin: .seconds(30))
        try await FeedTrial.run(configuration, times.environment) { trial in
            _ = try await server.opened()
            await trial.waitForLog("connected to")
            let clockReads = times.clockReads.value
            // A server that does not answer would be dropped after seventeen ticks.
            await times.clockReads.until { $0 >= clockReads + 20 }
            #expect(trial.feed.counts.unanswered == 0)
            #expect(trial.feed.connection != nil)
        }
        await server.stop()
    }
}

extension WebSocketFeedConfiguration {
    /// Returns a configuration that pings soon.
    fileprivate static func impatient(
        _ port: UInt16,
        pongWithin: Duration = .seconds(1)
    ) throws -> WebSocketFeedConfiguration {
        try test(port) {
            $0.connectTimeout = .seconds(60)
            $0.pingAfter = .seconds(1)
            $0.pongWithin = pongWithin
        }
    }
}

extension WebSocketURL {
    static var local: WebSocketURL {
        get throws { try WebSocketURL("ws://127.0.0.1:1/") }
    }
}
