import AdapterSupport
import Foundation
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FeedEndingTests {
    @Test func aConcurrentRunIsRefused() async throws {
        var server = try await TransportTrial.server()
        try await FeedTrial.run(.test(server.transport.port)) { trial in
            _ = try await server.opened()
            let error = await #expect(throws: WebSocketChatError.self) { try await trial.feed.run(into: trial.intake) }
            #expect(error?.code == .alreadyRunning)
            #expect(error?.source == "feed")
        }
        await server.stop()
    }

    @Test func aFeedCanRunAgain() async throws {
        var server = try await TransportTrial.server()
        let trial = try FeedTrial(.test(server.transport.port))
        for round in 1...3 {
            try await trial.whileRunning {
                let id = try await server.opened().0
                server.send("{\"action\":\"a\(round)\"}", on: id)
                _ = await trial.names(round)
            }
            #expect(try await server.ended() == .closedByPeer(.goingAway, reason: ""))
            #expect(trial.feed.connection == nil)
        }
        #expect(await trial.names(3) == ["a1", "a2", "a3"])
        #expect(trial.feed.counts.connections == 3)
        await server.stop()
    }

    @Test(arguments: [1_000, 1_001, 1_011, 4_000] as [UInt16])
    func aClosedConnectionEndsARunWithoutReconnecting(code: UInt16) async throws {
        var server = try await TransportTrial.server()
        let trial = try FeedTrial(.test(server.transport.port) { $0.reconnect = nil })
        async let run: Void = trial.feed.run(into: trial.intake)
        let id = try await server.opened().0
        server.send("{\"action\":\"last\"}", on: id)
        server.transport.perform(.close(CloseCode(number: code), reason: "so it is"), on: id)
        if code <= 1_001 {
            try await run
        } else {
            do {
                try await run
                Issue.record("the run ended normally")
            } catch let error as WebSocketChatError {
                #expect(error.code == .ended)
                #expect(error.detail.contains("\(code) \"so it is\""))
            }
        }
        #expect(await trial.names(1) == ["last"])
        await server.stop()
    }

    @Test(arguments: [1_000, 1_008, 4_001] as [UInt16])
    func aProgramsCloseEndsARunNormally(code: UInt16) async throws {
        var server = try await TransportTrial.server()
        let trial = try FeedTrial(.test(server.transport.port) { $0.reconnect = nil })
        async let run: Void = trial.feed.run(into: trial.intake)
        _ = try await server.opened()
        await trial.waitForLog("connected to")
        let connection = try #require(trial.feed.connection)
        let refusals = [(1_005, ""), (1_006, ""), (999, ""), (5_000, ""), (code, String(repeating: "a", count: 124))]
        for (number, reason) in refusals as [(UInt16, String)] {
            let error = #expect(throws: SendRefused.self) { try connection.close(code: number, reason: reason) }
            #expect(error == (reason.isEmpty ? .invalid : .tooLarge))
        }
        try connection.close(code: code, reason: "bye")
        #expect(try await server.ended() == .closedByPeer(CloseCode(number: code), reason: "bye"))
        try await run
        await trial.waitForLog("closed the connection to ws://127.0.0.1:\(server.transport.port): \(code) \"bye\"")
        await server.stop()
    }

    @Test func aLostConnectionEndsARunWithoutReconnecting() async throws {
        let server = try #require(FakeServer { UpgradeAnswer.text(to: $0) })
        let trial = try FeedTrial(.test(server.port) { $0.reconnect = nil })
        async let run: Void = trial.feed.run(into: trial.intake)
        await trial.waitForLog("connected to")
        server.drop()
        do {
            try await run
            Issue.record("the run ended normally")
        } catch let error as WebSocketChatError {
            #expect(error.code == .ended)
        }
    }

    @Test(arguments: [true, false]) func aFailedRequiredFirstConnectionThrowsTheReason(reconnects: Bool)
        async throws
    {
        let server = try await TransportTrial.server(.init(decide: { _ in .forbidden }))
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            if reconnects { $0.firstConnectionMustSucceed = true } else { $0.reconnect = nil }
        }
        let trial = try FeedTrial(configuration)
        let error = await #expect(throws: WebSocketChatError.self) { try await trial.feed.run(into: trial.intake) }
        #expect(error?.code == .notConnected)
        #expect(error?.description.contains("source feed: ws://127.0.0.1:\(server.transport.port) refused") == true)
        #expect(error?.description.contains("403. Check the origin") == true)
        await server.stop()
    }

    @Test func onlyTheFirstConnectionMustSucceed() async throws {
        var server = try await TransportTrial.server()
        let times = FeedTimes()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
            $0.firstConnectionMustSucceed = true
        }
        try await FeedTrial.run(configuration, times.environment) { trial in
            _ = try await server.opened()
            await server.stop()
            _ = await times.waits.first(1)
            times.releaseWaits()
            await trial.waitForLog("cannot reach ")
        }
    }

    // MARK: - Cancellation

    @Test func aStopBeforeTheStartEndsTheRun() async throws {
        let server = try await TransportTrial.server()
        let trial = try FeedTrial(.test(server.transport.port))
        let run = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await trial.feed.run(into: trial.intake)
        }
        try await run.value
        await server.stop()
    }

    @Test func aStopInterruptsALookup() async throws {
        let lookups = EventList<Void>()
        let mayEnd = DispatchSemaphore(value: 0)
        var environment = FeedEnvironment()
        environment.threadPool = BlockingThreadPool(limit: 1)
        environment.resolve = { _ in
            lookups.append(contentsOf: [()])
            mayEnd.wait()
            return .success(["127.0.0.1"])
        }
        try await FeedTrial.run(.test(1, host: "server.test"), environment) { _ in _ = await lookups.first(1) }
        mayEnd.signal()
    }

    @Test func aStopInterruptsAConnectionAttempt() async throws {
        let server = try #require(FakeServer { _ in "" })
        try await FeedTrial.run(.test(server.port)) { _ in _ = await server.requests.first(1) }
    }

    @Test func aStopInterruptsTheReconnectWait() async throws {
        let server = try await TransportTrial.server()
        let port = server.transport.port
        await server.stop()
        let times = FeedTimes()
        try await FeedTrial.run(.test(port), times.environment) { _ in _ = await times.waits.first(1) }
    }

    @Test func aStopWaitsBrieflyForASilentServer() async throws {
        let server = try #require(FakeServer { UpgradeAnswer.text(to: $0) })
        let times = FeedTimes()
        try await FeedTrial.run(.test(server.port), times.environment) { await $0.waitForLog("connected to") }
    }

    @Test func aStopWaitsForSettlement() async throws {
        var server = try await TransportTrial.server()
        let trial = try FeedTrial(
            .test(server.transport.port) {
                $0.announcesConnections = true
                $0.answers = true
            },
            into: .holding()
        )
        let order = EventList<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await trial.feed.run(into: trial.intake)
                order.append("returned")
            }
            do {
                let id = try await server.opened().0
                server.send("{\"action\":\"work\",\"id\":\"7\"}", on: id)
            } catch {
                trial.intake.settleAll()
                throw error
            }
            _ = await trial.names(2)
            group.cancelAll()
            // The end of the connection is reported once nothing more is read.
            let taken = await trial.intake.taken.first(3)
            #expect(taken.map(\.name) == ["signalbox.connected", "work", "signalbox.closed"])
            #expect(trial.feed.connection != nil)
            order.append("settled")
            for one in taken { one.settle() }
            try await group.waitForAll()
        }
        #expect(order.all == ["settled", "returned"])
        #expect(String(decoding: try await server.message(), as: UTF8.self) == "{\"id\":\"7\",\"outcome\":\"handled\"}")
        #expect(try await server.ended() == .closedByPeer(.goingAway, reason: ""))
        await server.stop()
    }

    @Test func aClosedIntakeEndsTheRun() async throws {
        var server = try await TransportTrial.server()
        let trial = try FeedTrial(
            .test(server.transport.port) { $0.answers = true },
            into: RecordingIntake(room: 1)
        )
        async let run: Void = trial.feed.run(into: trial.intake)
        let id = try await server.opened().0
        server.send("{\"action\":\"a\",\"id\":\"1\"}", on: id)
        server.send("{\"action\":\"b\",\"id\":\"2\"}", on: id)
        _ = await trial.intake.roomCalls.first(1)
        trial.intake.close()
        try await run
        #expect(trial.feed.counts.notTaken == 1)
        await trial.waitForLog("1 received message was not handled")
        #expect(String(decoding: try await server.message(), as: UTF8.self).contains("\"handled\""))
        #expect(String(decoding: try await server.message(), as: UTF8.self).contains("\"abandoned\""))
        #expect(try await server.ended() == .closedByPeer(.goingAway, reason: ""))
        await server.stop()
    }
}

@Suite struct WebSocketDisconnectReasonTests {
    @Test func internalReasonsMapToPublicReasons() {
        let ends: [(DisconnectReason, WebSocketDisconnectReason)] = [
            (.secretUnavailable(""), .notPrepared), (.notResolved(""), .unreachable),
            (.lookupTimeout(.zero), .unreachable),
            (.connectTimeout(.zero), .unreachable), (.pongTimeout, .lost),
            (.subprotocolMismatch(nil), .protocolViolation),
            (.invalidTarget(""), .notPrepared), (.notResolved(""), .unreachable),
            (.unreachable(""), .unreachable), (.tlsFailed(""), .tlsFailed),
            (.refused(status: 401), .refused(status: 401)),
            (.upgradeFailed(""), .protocolViolation),
            (.closedByPeer(.normal, reason: ""), .closed(code: 1000)),
            (.closedByPeer(.absent, reason: ""), .closed(code: nil)),
            (.closedLocally(.goingAway, reason: ""), .closed(code: 1001)),
            (.closedLocally(.messageTooBig, reason: ""), .protocolViolation),
            (.protocolViolation(.invalidPayload), .protocolViolation), (.lost, .lost),
            (.stopped, .lost),
        ]
        for (end, ending) in ends { #expect(end.classification.disconnectReason == ending, "\(end)") }
    }

    @Test func namingTheSourcePreservesTheDisconnectReason() {
        let error = WebSocketChatError(.ended, "a").with(.closed(code: 4_001))
        #expect(error.about("feed").disconnectReason == .closed(code: 4_001))
        #expect(WebSocketChatError(.ended, "a").disconnectReason == nil)
    }
}
