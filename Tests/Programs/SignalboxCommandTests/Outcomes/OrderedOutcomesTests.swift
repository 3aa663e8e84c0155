import BrokerKit
import Foundation
import Logging
import Signalbox
import SignalboxCore
import Synchronization
import Testing

@testable import SignalboxCommand

@Suite struct OrderedOutcomesTests {
    /// A supervisor with a plugin `slow` that returns when the test says so, and a plugin `fast`.
    private struct Trial {
        let intake: OrderedIntake
        let outcomes: OrderedOutcomes
        let output: StandardOutput
        let release: @Sendable () -> Void
        /// Yields for each call of `fast` that is settled.
        let settled: AsyncStream<Void>
        let sink = IgnoringSink()

        func submit(_ actions: [String]) -> Int {
            intake.submit(Trial.arrivals(actions), to: sink)
        }

        private static func arrivals(_ actions: [String]) -> [Arrival] {
            var batch = ArrivalBatch(pool: ArrivalPool())
            let origin = Origin(source: "test", facts: InternalFacts())
            for (token, action) in actions.enumerated() {
                let message = "{\"action\":\"\(action)\",\"id\":\"\(token)\"}"
                Array(message.utf8).withUnsafeBytes {
                    batch.append($0, token: UInt64(token), origin: origin, receivedAt: WallTime(seconds: 0))
                }
            }
            return batch.take()
        }
    }

    private final class IgnoringSink: SettlementSink {
        func mayAcknowledge(_ token: UInt64) {}
        func settle(_ token: UInt64, _ outcome: Outcome) {}
    }

    private static func withTrial(
        _ window: WindowLimits,
        limit: Int? = nil,
        enough: @escaping @Sendable () -> Void = {},
        _ body: (Trial) async throws -> Void
    ) async throws -> [String] {
        let pipe = Pipe.unshared()
        let output = StandardOutput(descriptor: OutputDescriptor(number: pipe.fileHandleForWriting.fileDescriptor))
        let outcomes = OrderedOutcomes(window: window, output: output, recorded: nil, limit: limit, enough: enough)
        let (settled, teller) = AsyncStream.makeStream(of: Void.self)
        var bounds = SupervisorConfiguration()
        bounds.timeout = .seconds(600)
        bounds.onOutcome = { arrival in
            outcomes.note(arrival)
            if arrival.plugin == "fast" { teller.yield() }
        }
        let supervisor = Supervisor(
            configuration: bounds,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        try supervisor.register("slow", as: RawBody.self, from: .source("test")) { _, _ async in
            for await _ in gate {}
        }
        try supervisor.register("fast", as: RawBody.self, from: .source("test")) { _, _ in }
        let intake = OrderedIntake(intake: try supervisor.intake(for: "test"), outcomes: outcomes)
        let trial = Trial(
            intake: intake,
            outcomes: outcomes,
            output: output,
            release: { opener.finish() },
            settled: settled
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            try await body(trial)
            group.cancelAll()
        }
        #expect(await output.finish(within: .seconds(600)) == nil)
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        return try text.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return try #require(object?["id"] as? String)
        }
    }

    @Test func linesComeInTheOrderOfArrivalAlthoughOutcomesDoNot() async throws {
        let ids = try await OrderedOutcomesTests.withTrial(WindowLimits()) { trial in
            #expect(trial.submit(["slow", "fast", "unknown", "fast"]) == 4)
            var settled = trial.settled.makeAsyncIterator()
            for _ in 0..<2 { await settled.next() }
            #expect(trial.outcomes.summary.settled == 0)
            trial.release()
            try await trial.intake.room()
        }
        #expect(ids == ["0", "1", "2", "3"])
    }

    @Test func linesThatWaitForAnEarlierOneTakeUpTheWindow() async throws {
        let ids = try await OrderedOutcomesTests.withTrial(WindowLimits(arrivals: 4)) { trial in
            #expect(trial.submit(["slow", "fast", "fast", "fast", "fast"]) == 4)
            var settled = trial.settled.makeAsyncIterator()
            for _ in 0..<3 { await settled.next() }
            #expect(trial.submit(["fast"]) == 0)
            trial.release()
            try await trial.intake.room()
            #expect(trial.submit(["fast"]) == 1)
            await settled.next()
        }
        #expect(ids == ["0", "1", "2", "3", "0"])
    }

    @Test func afterEnoughLinesNoMoreAreWrittenOrCounted() async throws {
        let times = Mutex(0)
        let ids = try await OrderedOutcomesTests.withTrial(WindowLimits(), limit: 2) {
            times.withLock { $0 += 1 }
        } _: { trial in
            #expect(trial.submit(["fast", "nobody", "nobody", "fast"]) == 4)
            var settled = trial.settled.makeAsyncIterator()
            for _ in 0..<2 { await settled.next() }
            #expect(trial.outcomes.summary.settled == 2)
            #expect(trial.outcomes.summary.notHandled == 1)
            #expect(trial.outcomes.written == 2)
        }
        #expect(ids == ["0", "1"])
        #expect(times.withLock { $0 } == 1)
    }

    @Test func whereThereIsRoomOneArrivalMayReachOverTheBytes() async throws {
        let ids = try await OrderedOutcomesTests.withTrial(WindowLimits(bytes: 40)) { trial in
            // A message has 26 bytes: after the first a quarter is still free, after the second it is not.
            #expect(trial.submit(["slow", "fast", "fast"]) == 2)
            #expect(trial.submit(["fast"]) == 0)
            trial.release()
            try await trial.intake.room()
            #expect(trial.submit(["fast"]) == 1)
        }
        #expect(ids == ["0", "1", "0"])
    }

    @Test func whatTheSupervisorDoesNotTakeHasNoLine() async throws {
        let pipe = Pipe.unshared()
        let output = StandardOutput(descriptor: OutputDescriptor(number: pipe.fileHandleForWriting.fileDescriptor))
        let outcomes = OrderedOutcomes(window: WindowLimits(), output: output, recorded: nil)
        let supervisor = Supervisor(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let intake = OrderedIntake(
            intake: try supervisor.intake(for: "test", window: WindowLimits(arrivals: 1)),
            outcomes: outcomes
        )
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "test", facts: InternalFacts())
        for token in 0..<3 as Range<UInt64> {
            Array("{}".utf8).withUnsafeBytes {
                batch.append($0, token: token, origin: origin, receivedAt: WallTime(seconds: 0))
            }
        }
        let arrivals = batch.take()
        #expect(intake.submit(arrivals, to: IgnoringSink()) == 1)
        // The places of the other two are free again: theirs are given to them anew.
        #expect(outcomes.take(Array(arrivals[1...])) == 2)
    }
}
