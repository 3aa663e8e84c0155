import AdapterSupport
import Dispatch
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FeedThreadTests {
    @Test func fiftyFeedsShareAThread() async throws {
        var server = try await TransportTrial.server(.init(echoes: true))
        let thread = WebSocketThread()
        let feeds = try (0..<50).map { number in
            let source = try SourceName("feed\(number)")
            let configuration = try WebSocketFeedConfiguration.test(server.transport.port) {
                $0.source = source
                $0.openingMessages = ["{\"action\":\"of\(number)\"}"]
            }
            return try FeedTrial(configuration, thread: thread)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for trial in feeds { group.addTask { try await trial.feed.run(into: trial.intake) } }
            for (number, trial) in feeds.enumerated() {
                #expect(await trial.names(1) == ["of\(number)"])
                #expect(trial.intake.taken.all.first?.arrival.origin.source.text == "feed\(number)")
            }
            group.cancelAll()
            try await group.waitForAll()
        }
        for trial in feeds { #expect(trial.intake.taken.all.count == 1) }
        while let event = await server.next() {
            guard case .closed = event else { continue }
            break
        }
        await server.stop()
    }

    @Test func theThreadIsSharedUntilItsLastUserUnregisters() async throws {
        let thread = WebSocketThread()
        async let first = thread.register()
        async let second = thread.register()
        let both = try await (first, second)
        #expect(both.0 === both.1)
        await thread.unregister(both.0)
        let third = try await thread.register()
        #expect(third === both.0)
        await thread.unregister(both.0)
        await thread.unregister(both.0)
        let next = try await thread.register()
        #expect(next !== both.0)
        await thread.unregister(next)
    }

    @Test func concurrentRegistrationsDoNotInterfere() async throws {
        let thread = WebSocketThread()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<25 {
                        let eventLoop = try await thread.register()
                        await thread.unregister(eventLoop)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func stoppingOneFeedLeavesAnotherRunning() async throws {
        var server = try await TransportTrial.server(.init(echoes: true))
        let thread = WebSocketThread()
        let stays = try FeedTrial(.test(server.transport.port), thread: thread)
        try await stays.whileRunning {
            let id = try await server.opened().0
            for _ in 0..<3 {
                try await FeedTrial.run(.test(server.transport.port), thread: thread) { _ in
                    _ = try await server.opened()
                }
                _ = try await server.ended()
            }
            server.send("{\"action\":\"still\"}", on: id)
            #expect(await stays.names(1) == ["still"])
        }
        #expect(stays.feed.counts.connections == 1)
        await server.stop()
    }
}

@Suite(.timeLimit(.minutes(10))) struct BlockingThreadPoolTests {
    @Test func thePoolLimitsItsThreadsAndSkipsCancelledWork() async {
        let threads = BlockingThreadPool(limit: 2)
        let started = EventList<Int>()
        let mayEnd = DispatchSemaphore(value: 0)
        let tickets = (0..<4).map { number in
            threads.perform { missing in
                if missing != nil { Issue.record("no thread could be created") }
                started.append(number)
                mayEnd.wait()
            }
        }
        #expect(Set(await started.first(2)) == [0, 1])
        #expect(threads.running == 2)
        #expect(threads.waiting == 2)
        threads.cancel(tickets[2])
        threads.cancel(tickets[0])
        #expect(threads.waiting == 1)
        for _ in 0..<3 { mayEnd.signal() }
        #expect(await started.first(3).last == 3)
        #expect(started.all.count == 3)
    }

    @Test func localhostResolvesToLoopbackAddresses() throws {
        let addresses = try AddressLookup.addresses(of: "localhost")
        #expect(addresses.contains("127.0.0.1") || addresses.contains("::1"))
        #expect(addresses.allSatisfy { NumericAddress($0) != nil })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test(arguments: [("127.0.0.1", true), ("::1", true), ("[::1]", false), ("localhost", false), ("1.2.3", false)])
    func numericAddressesAreRecognized(host: String, isNumeric: Bool) {
        #expect((NumericAddress(host) != nil) == isNumeric)
    }
}

@Suite struct HeartbeatTests {
    private var heartbeat = Heartbeat(pingAfter: .seconds(10), pongWithin: .seconds(5), now: .now)
    private var now = ContinuousClock.now

    /// Returns the advice after each of `count` half seconds.
    private mutating func ticks(_ count: Int, isPaused: Bool = false) -> [Heartbeat.Action] {
        (0..<count).map { _ in
            now += .milliseconds(500)
            return heartbeat.tick(now, isPaused: isPaused)
        }
    }

    private mutating func begin() {
        now = .now
        heartbeat = Heartbeat(pingAfter: .seconds(10), pongWithin: .seconds(5), now: now)
    }

    @Test mutating func aSilentPeerIsPingedOnceAndThenTimesOut() {
        begin()
        #expect(ticks(20) == Array(repeating: .nothing, count: 19) + [.ping])
        // One tick more than 5 s, so that an answer still unread is counted.
        #expect(ticks(11) == Array(repeating: .nothing, count: 10) + [.timedOut])
    }

    @Test mutating func anyReceivedDataAnswersThePing() {
        begin()
        #expect(ticks(20).last == .ping)
        _ = ticks(10)
        heartbeat.received()
        #expect(ticks(20) == Array(repeating: .nothing, count: 20))
        #expect(ticks(1) == [.ping])
    }

    @Test mutating func pausedTimeDoesNotCount() {
        begin()
        #expect(ticks(1_000, isPaused: true) == Array(repeating: .nothing, count: 1_000))
        // The half second in which reading resumed does not count either.
        #expect(ticks(21) == Array(repeating: .nothing, count: 20) + [.ping])
        #expect(ticks(9) == Array(repeating: .nothing, count: 9))
        #expect(ticks(1_000, isPaused: true) == Array(repeating: .nothing, count: 1_000))
        #expect(ticks(3) == [.nothing, .nothing, .timedOut])
    }

    @Test mutating func systemSleepCausesNoTimeout() {
        begin()
        #expect(ticks(20).last == .ping)
        now += .seconds(86_400)
        #expect(heartbeat.tick(now, isPaused: false) == .nothing)
        heartbeat.received()
        #expect(ticks(1) == [.nothing])
    }
}
