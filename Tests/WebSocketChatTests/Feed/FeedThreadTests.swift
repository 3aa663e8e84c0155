import SignalboxCore
import SignalboxTesting
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FeedThreadTests {
    @Test func fiftyFeedsShareAThread() async throws {
        var server = try await Party.server(.init(echoes: true))
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

    @Test func theThreadIsOneWhileAnybodyNeedsIt() async throws {
        let thread = WebSocketThread()
        async let first = thread.join()
        async let second = thread.join()
        let both = try await (first, second)
        #expect(both.0 === both.1)
        await thread.leave(both.0)
        let third = try await thread.join()
        #expect(third === both.0)
        await thread.leave(both.0)
        await thread.leave(both.0)
        let next = try await thread.join()
        #expect(next !== both.0)
        await thread.leave(next)
    }

    @Test func beginningsAndEndsDoNotMeet() async throws {
        let thread = WebSocketThread()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<25 {
                        let service = try await thread.join()
                        await thread.leave(service)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func oneFeedsStopDoesNotDisturbAnother() async throws {
        var server = try await Party.server(.init(echoes: true))
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
            server.say("{\"action\":\"still\"}", on: id)
            #expect(await stays.names(1) == ["still"])
        }
        #expect(stays.feed.counts.connections == 1)
        await server.stop()
    }
}
