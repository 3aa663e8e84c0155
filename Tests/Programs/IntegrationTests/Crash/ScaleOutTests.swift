import BrokerKit
import Foundation
import Testing

/// Three real processes share one subscription, each with a client id of its own that stays the same and a session.
@Suite struct ScaleOutTests {
    private static let names = ["worker-1", "worker-2", "worker-3"]

    @Test(.timeLimit(.minutes(10)))
    func aWorkerOfAGroupIsKilledAndStartedAgainAndNothingIsLost() async throws {
        try await Workplace.with { place in
            let first = try await started(place, Self.names[0])
            let second = try await started(place, Self.names[1], ["--die", "plugin", "--die-at", "50"])
            let third = try await started(place, Self.names[2])
            #expect(try await publish(place, "crash/log", first: 1, count: 1_000).status() == 0)
            #expect(await second.status() == -SIGKILL)
            // What the group gets while one is away reaches the others, or waits for it: nobody else may have that.
            #expect(try await publish(place, "crash/log", first: 1_001, count: 1_000).status() == 0)
            let again = try await started(place, Self.names[1])
            #expect(try await publish(place, "crash/log", first: 2_001, count: 1_000).status() == 0)
            for (name, worker) in zip(Self.names, [first, again, third]) { try await end(place, name, worker) }
            var handled: Set<String> = []
            for name in Self.names {
                let lines = try place.lines(of: "\(name).txt")
                #expect(!lines.isEmpty, "\(name) has had no part of the work")
                handled.formUnion(lines)
            }
            #expect(handled == Set((1...3_000).map(String.init)))
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func nothingWaitsForAWorkerThatWasTakenAwayInOrder() async throws {
        try await Workplace.with { place in
            let first = try await started(place, Self.names[0])
            let second = try await started(place, Self.names[1])
            let third = try await started(place, Self.names[2])
            let publisher = try publish(place, "crash/log", first: 1, count: 2_000)
            try await third.leave()
            // Behind what the broker had for it already.
            try await end(place, Self.names[2], third)
            #expect(await publisher.status() == 0)
            #expect(try await publish(place, "crash/log", first: 2_001, count: 100).status() == 0)
            for (name, worker) in zip(Self.names, [first, second]) { try await end(place, name, worker) }
            let handled = try Self.names.flatMap { try place.lines(of: "\($0).txt") }
            #expect(Set(handled) == Set((1...2_100).map(String.init)))
        }
    }

    private func started(_ place: Workplace, _ name: String, _ more: [String] = []) async throws -> WorkerRun {
        try await WorkerRun.subscribed(
            [
                "--broker", place.broker.url, "--client-id", name, "--filter", "$share/workers/crash/{action}", "--own",
                "own/\(name)/{action}", "--ledger", place.file("\(name).txt").path,
            ] + more
        )
    }

    /// Ends a worker behind all that the broker has for it.
    private func end(_ place: Workplace, _ name: String, _ worker: WorkerRun) async throws {
        #expect(try await publish(place, "own/\(name)/marker", first: 0, count: 1).status() == 0)
        #expect(await worker.status() == 0)
    }

    private func publish(_ place: Workplace, _ topic: String, first: Int, count: Int) throws -> RunningProgram {
        try RunningProgram(
            BuiltProgram.path("LedgerPublisher"),
            [
                "--port", "\(place.broker.port)", "--topic", topic, "--payload", #"{"n":{n}}"#, "--first", "\(first)",
                "--count", "\(count)", "--ledger", place.file("sent-\(first).txt").path,
            ]
        )
    }
}
