import Foundation
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FeedConnectingTests {
    private static func text(_ message: [UInt8]) -> String { String(decoding: message, as: UTF8.self) }

    @Test func openingMessagesComeFirstAfterEachConnection() async throws {
        var server = try await Party.server()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.openingMessages = ["{\"subscribe\":1}", "second", ""]
        }
        try await FeedTrial.run(configuration) { trial in
            for round in 1...3 {
                let id = try await server.opened().0
                for expected in configuration.openingMessages {
                    #expect(Self.text(try await server.message()) == expected)
                }
                await trial.hears("connected to ws://127.0.0.1:\(server.transport.port)")
                try trial.feed.connection?.send(text: "after \(round)")
                #expect(Self.text(try await server.message()) == "after \(round)")
                server.transport.perform(.close(.goingAway, reason: "restart"), on: id)
                _ = try await server.ended()
            }
        }
        await server.stop()
    }

    @Test func theCeilingGrowsUntilAConnectionHeld() async throws {
        var server = try await Party.server()
        let times = FeedTimes()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.reconnect = WebSocketReconnect(first: .milliseconds(500), cap: .seconds(3), holds: .seconds(10))
        }
        try await FeedTrial.run(configuration, times.surroundings) { trial in
            for round in 1...5 {
                let id = try await server.opened().0
                if round == 5 {
                    // Otherwise the feed might notice the open connection only after the clock has advanced.
                    server.say("{\"action\":\"a\"}", on: id)
                    _ = await trial.names(1)
                    times.advance(by: .seconds(10))
                }
                server.transport.perform(.close(.internalError, reason: ""), on: id)
                _ = try await server.ended()
                _ = await times.waits.first(round)
                times.letPass()
            }
            let waits = times.waits.all.map { $0 / .milliseconds(1) }
            #expect(waits == [500, 1_000, 2_000, 3_000, 500])
            #expect(
                trial.log.all.contains { $0.contains("warning source feed: ws://127.0.0.1") && $0.contains("1011") }
            )
            _ = try await server.opened()
        }
        await server.stop()
    }

    @Test(arguments: [
        (UpgradeDecision.unauthorized, "401. Check the bearer token"), (.forbidden, "403"), (.notFound, "404"),
    ])
    func aRefusalThatNeedsTheConfigurationIsAnErrorAndTriedAgainSlowly(
        decision: UpgradeDecision,
        words: String
    ) async throws {
        let server = try await Party.server(.init(decide: { _ in decision }))
        let times = FeedTimes()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.reconnect = WebSocketReconnect(first: .milliseconds(1), slow: .seconds(40) ... .seconds(41))
        }
        try await FeedTrial.run(configuration, times.surroundings) { trial in
            let line = await trial.hears("refused the connection: status \(words)")
            #expect(line.hasPrefix("error source feed: ws://127.0.0.1:\(server.transport.port) refused"))
            #expect(line.contains("next try in 41.0 s"))
            #expect(await times.waits.first(1) == [.seconds(41)])
            #expect(trial.feed.counts.failures == 1)
            #expect(trial.feed.connection == nil)
            #expect(!trial.log.all.contains { $0.contains("canary") })
        }
        await server.stop()
    }

    @Test func aBusyServerIsTriedAgainSoon() async throws {
        let server = try await Party.server(.init(decide: { _ in .unavailable }))
        let times = FeedTimes()
        try await FeedTrial.run(.test(server.transport.port), times.surroundings) { trial in
            let line = await trial.hears("status 503")
            #expect(line.hasPrefix("warning "))
            #expect(await times.waits.first(1) == [.milliseconds(1)])
        }
        await server.stop()
    }

    @Test func secretsAreReadAnewForEachConnectionAndNeverLogged() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("feed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("token")
        let seen = EventList<String>()
        var server = try await Party.server(
            .init(decide: { request in
                seen.append(request.authorization ?? "none")
                return request.authorization == "Bearer canary-right" ? .accept : .unauthorized
            })
        )
        let times = FeedTimes()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) { $0.bearer = .file(file.path) }
        try await FeedTrial.run(configuration, times.surroundings) { trial in
            let line = await trial.hears("cannot be read")
            #expect(line.hasPrefix("error source feed: not connected to ws://"))
            #expect(line.contains("file \(file.path) cannot be read"))
            try "canary-wrong\n".write(to: file, atomically: true, encoding: .utf8)
            times.letPass()
            await trial.hears("status 401")
            try "a\u{1}b".write(to: file, atomically: true, encoding: .utf8)
            times.letPass()
            _ = await times.waits.first(3)
            try "canary-right\n".write(to: file, atomically: true, encoding: .utf8)
            times.letPass()
            _ = try await server.opened()
            #expect(seen.all == ["Bearer canary-wrong", "Bearer canary-right"])
            #expect(trial.feed.counts.failures == 3)
            #expect(!trial.log.all.contains { $0.contains("canary") })
        }
        await server.stop()
    }

    @Test func aValueWithControlCharactersIsNoHeader() throws {
        var configuration = WebSocketFeedConfiguration(source: "feed", url: try .local)
        configuration.headers = [WebSocketHeader("X-Key", .text("a\r\nInjected: b"))]
        let made = FeedPreparation.make(configuration) { _ in .success(["127.0.0.1"]) }
        #expect(throws: FeedEnd.self) { try made.get() }
    }

    @Test func allAddressesOfAHostAreTriedInTurn() async throws {
        let (requests, told) = AsyncStream<UpgradeRequest>.makeStream()
        var server = try await Party.server(
            .init(decide: { request in
                told.yield(request)
                return .accept
            })
        )
        let port = server.transport.port
        var surroundings = FeedSurroundings()
        surroundings.resolve = { $0 == "server.test" ? .success(["::1", "127.0.0.2", "127.0.0.1"]) : .success([]) }
        let configuration = try WebSocketFeedConfiguration.test(port, host: "server.test") {
            $0.origin = "https://app.example"
            $0.headers = [WebSocketHeader("X-Plain", .text("v"))]
        }
        try await FeedTrial.run(configuration, surroundings) { trial in
            let request = try #require(await requests.first { _ in true })
            #expect(request.host == "server.test:\(port)")
            #expect(request.path == "/chat")
            #expect(request.query == ["token=canary-7c1e"])
            #expect(request.origin == "https://app.example")
            _ = try await server.opened()
            await trial.hears("connected to ws://server.test:\(port)")
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

    @Test func aHostWithoutAnAddressIsToldAndTriedAgain() async throws {
        let names = EventList<String>()
        var surroundings = FeedSurroundings()
        surroundings.resolve = { name in
            names.append(name)
            return .failure(.notResolved("nobody knows it"))
        }
        try await FeedTrial.run(.test(1, host: "server.test"), surroundings) { trial in
            let line = await trial.hears("the host of ws://server.test:1 cannot be resolved: nobody knows it")
            #expect(line.hasPrefix("warning "))
            #expect(await names.first(3) == ["server.test", "server.test", "server.test"])
        }
    }

    @Test func aLookupThatDoesNotEndIsLeftBehind() async throws {
        let asked = EventList<Void>()
        let mayEnd = DispatchSemaphore(value: 0)
        var surroundings = FeedTimes(step: .seconds(30)).surroundings
        surroundings.lookups = LookupThreads(limit: 1)
        surroundings.resolve = { _ in
            asked.append(contentsOf: [()])
            mayEnd.wait()
            return .success(["127.0.0.1"])
        }
        let lookups = surroundings.lookups
        let configuration = try WebSocketFeedConfiguration.test(1, host: "server.test") {
            $0.connectTimeout = .seconds(10)
        }
        try await FeedTrial.run(configuration, surroundings) { trial in
            let line = await trial.hears("were not there within 10.0 s")
            #expect(line.hasPrefix("warning "))
            #expect(asked.all.count == 1)
            #expect(lookups.running == 1)
            #expect(lookups.waiting == 0)
        }
        mayEnd.signal()
    }

    @Test func compressionIsUsedWhereBothWantIt() async throws {
        var place = ServerPlace()
        place.compresses = true
        var server = try await Party.server(place: place)
        for compresses in [true, false] {
            let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
                $0.compression = compresses
            }
            try await FeedTrial.run(configuration) { trial in
                let id = try await server.opened().0
                #expect(await trial.hears("connected to").contains("compressed") == compresses)
                server.say("{\"action\":\"tick\"}", on: id)
                #expect(await trial.names(1) == ["tick"])
            }
            _ = try await server.ended()
        }
        await server.stop()
    }

    @Test func aServerThatDoesNotAnswerAPingIsLeft() async throws {
        let server = try #require(FakeServer { UpgradeAnswer.text(to: $0) })
        let times = FeedTimes(step: .seconds(4))
        try await FeedTrial.run(.impatient(server.port), times.surroundings) { trial in
            let line = await trial.hears("did not answer a ping")
            #expect(line.hasPrefix("warning source feed: ws://127.0.0.1:\(server.port) did not answer"))
            #expect(trial.feed.counts.unanswered >= 1)
            _ = await server.requests.first(2)
        }
    }

    @Test func aConnectionThatIsNotReadIsNotTakenForDead() async throws {
        var server = try await Party.server()
        let times = FeedTimes(step: .seconds(2))
        let intake = RecordingIntake(room: 1)
        let configuration = try WebSocketFeedConfiguration.impatient(server.transport.port, pongWithin: .seconds(30))
        try await FeedTrial.run(configuration, times.surroundings, into: intake) { trial in
            let id = try await server.opened().0
            for number in 0..<3 { server.say("{\"action\":\"a\(number)\"}", on: id) }
            _ = await intake.roomCalls.first(1)
            let looks = times.looks.value
            // At least twenty ticks. A connection that is read would be dropped after seventeen.
            await times.looks.until { $0 >= looks + 20 }
            intake.makeRoom(2)
            #expect(await trial.names(3) == ["a0", "a1", "a2"])
            #expect(trial.feed.counts.unanswered == 0)
            #expect(trial.feed.counts.connections == 1)
        }
        await server.stop()
    }

    @Test func aServerThatAnswersPingsIsKept() async throws {
        var server = try await Party.server()
        let times = FeedTimes(step: .seconds(2))
        let configuration = try WebSocketFeedConfiguration.impatient(server.transport.port, pongWithin: .seconds(30))
        try await FeedTrial.run(configuration, times.surroundings) { trial in
            _ = try await server.opened()
            await trial.hears("connected to")
            let looks = times.looks.value
            // A server that does not answer would be dropped after seventeen ticks.
            await times.looks.until { $0 >= looks + 20 }
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
