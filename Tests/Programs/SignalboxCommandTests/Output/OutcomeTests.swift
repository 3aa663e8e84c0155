import BrokerKit
import Foundation
import Logging
import SignalboxCore
import Synchronization
import Testing

@testable import Signalbox
@testable import SignalboxCommand

@Suite struct OrderedOutcomesTests {
    /// A supervisor with a plugin `slow`, which returns after `release()`, and a plugin `fast`.
    private struct Trial {
        let intake: OrderedIntake
        let outcomes: OrderedOutcomes
        let output: StandardOutput
        let release: @Sendable () -> Void
        /// Yields for each settled call of `fast`.
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
        onCountReached: @escaping @Sendable () -> Void = {},
        _ body: (Trial) async throws -> Void
    ) async throws -> [String] {
        let pipe = Pipe.unshared()
        let output = StandardOutput(descriptor: OutputDescriptor(number: pipe.fileHandleForWriting.fileDescriptor))
        let outcomes = OrderedOutcomes(
            window: window,
            output: output,
            recorded: nil,
            limit: limit,
            onCountReached: onCountReached
        )
        let (settled, teller) = AsyncStream.makeStream(of: Void.self)
        var bounds = SupervisorConfiguration()
        bounds.timeout = .seconds(600)
        bounds.onOutcome = { arrival in
            outcomes.record(arrival)
            if arrival.plugin == "fast" { teller.yield() }
        }
        let supervisor = Supervisor(
            configuration: bounds,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        try supervisor.register(
            Registration("slow", as: RawBody.self, from: .source("test")) { _, _ async in
                for await _ in gate {}
            }
        )
        try supervisor.register(Registration("fast", as: RawBody.self, from: .source("test")) { _, _ in })
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

    @Test func linesKeepTheOrderOfArrival() async throws {
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

    @Test func waitingLinesOccupyTheWindow() async throws {
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

    @Test func linesBeyondTheLimitAreNeitherWrittenNorCounted() async throws {
        let times = Mutex(0)
        let ids = try await OrderedOutcomesTests.withTrial(WindowLimits(), limit: 2) {
            times.withLock { $0 += 1 }
        } _: { trial in
            #expect(trial.submit(["fast", "nobody", "nobody", "fast"]) == 4)
            var settled = trial.settled.makeAsyncIterator()
            for _ in 0..<2 { await settled.next() }
            #expect(trial.outcomes.summary.settled == 2)
            #expect(trial.outcomes.summary.notHandled == 1)
        }
        #expect(ids == ["0", "1"])
        #expect(times.withLock { $0 } == 1)
    }

    @Test func oneArrivalMayExceedTheByteWindow() async throws {
        let ids = try await OrderedOutcomesTests.withTrial(WindowLimits(bytes: 40)) { trial in
            // A message has 26 bytes: after the first, a quarter is still free; after the second, it is not.
            #expect(trial.submit(["slow", "fast", "fast"]) == 2)
            #expect(trial.submit(["fast"]) == 0)
            trial.release()
            try await trial.intake.room()
            #expect(trial.submit(["fast"]) == 1)
        }
        #expect(ids == ["0", "1", "0"])
    }

    @Test func arrivalsWithoutRoomHaveNoLine() async throws {
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
        // The slots of the other two are free again, so these arrivals can be taken.
        #expect(outcomes.reserveSlots(for: Array(arrivals[1...])) == 2)
    }
}

@Suite struct OutcomeLineTests {
    private static func line(_ message: String, _ outcome: Outcome, isDuplicate: Bool = false) throws -> OutcomeLine {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "page", facts: InternalFacts())
        Array(message.utf8).withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: WallTime(seconds: 0))
        }
        let arrival = try #require(batch.take().first)
        return OutcomeLine(
            settled: SettledArrival(
                arrival: arrival,
                plugin: nil,
                outcome: outcome,
                attempts: isDuplicate ? 0 : 1,
                isDuplicate: isDuplicate
            )
        )
    }

    private static let invalid = Outcome.rejected(
        Outcome.Rejection(
            .invalidBody,
            BodyError(.typeMismatch, path: "body.amount", offset: 31, detail: "expected Int")
        )
    )

    @Test func anInvalidBodyIsReportedWithItsPath() throws {
        let line = try OutcomeLineTests.line(#"{"action":"pay","body":{"amount":"1"}}"#, OutcomeLineTests.invalid)
        let members =
            #""outcome":"rejected","reason":"invalidBody","#
            + #""detail":"typeMismatch at body.amount (byte 31): expected Int","path":"body.amount""#
        #expect(
            String(decoding: line.recordLine, as: UTF8.self)
                == #"{"source":"page","action":"pay","body":{"amount":"1"},"# + members + "}\n"
        )
        let run = String(decoding: line.runLine, as: UTF8.self)
        let stages =
            #","explanation":[{"stage":"envelope","passes":true,"detail":"standard"},"#
            + #"{"stage":"plugin","passes":false,"detail":"typeMismatch at body.amount (byte 31): expected Int"}]"#
        #expect(run.contains(members + stages + #","deadLetter":"{\"action\":"#), "\(run)")
        #expect(!String(decoding: line.recordLine, as: UTF8.self).contains("explanation"))
    }

    @Test func anAbandonedMessageHasNoDetailAndIsNoDeadLetter() throws {
        let line = try OutcomeLineTests.line(#"{"action":"pay","uuid":"u"}"#, .abandoned(.drain))
        let expected = #"{"source":"page","action":"pay","id":"u","body":null,"outcome":"abandoned","reason":"drain"}"#
        #expect(String(decoding: line.recordLine, as: UTF8.self) == expected + "\n")
        #expect(!String(decoding: line.runLine, as: UTF8.self).contains("deadLetter"))
    }

    @Test func onlyADuplicateSaysThatItIsOne() throws {
        let message = #"{"action":"pay","id":"1"}"#
        let start = #"{"source":"page","action":"pay","id":"1","outcome":"handled""#
        for (isDuplicate, end) in [(false, "}\n"), (true, ",\"isDuplicate\":true}\n")] {
            let line = try OutcomeLineTests.line(message, .handled(reply: nil), isDuplicate: isDuplicate)
            #expect(String(decoding: line.runLine, as: UTF8.self) == start + end)
            #expect(!String(decoding: line.recordLine, as: UTF8.self).contains("isDuplicate"))
        }
    }

    @Test func terminalLinesHaveColumnsAndNoControlCharacters() throws {
        let reply = Bytes("{\"receipt\":\"r-1\"}")
        let handled = try OutcomeLineTests.line(
            #"{"action":"pay","id":"a\u001bb","body":[1, 2]}"#,
            .handled(reply: reply)
        )
        let wide = "handled    pay               a\\eb      [1,2]" + String(repeating: " ", count: 27)
        #expect(String(decoding: handled.terminalLine, as: UTF8.self) == wide + "  -> {\"receipt\":\"r-1\"}\n")
        let silent = try OutcomeLineTests.line(#"{"action":"pay"}"#, .handled(reply: nil))
        #expect(String(decoding: silent.terminalLine, as: UTF8.self) == "handled    pay\n")
        let unreadable = try OutcomeLineTests.line("{\u{1B}", .rejected(Outcome.Rejection(.malformed, detail: "why")))
        let shown = String(decoding: unreadable.terminalLine, as: UTF8.self)
        #expect(shown.hasPrefix("rejected   (unreadable)                {\\e"))
        #expect(shown.hasSuffix("  malformed: why\n"))
    }
}

@Suite struct RecordedRunTests {
    private static func run(_ recorded: String, _ lines: [String]) -> RecordedRun {
        var summary = OutcomeSummary(recorded: RecordedRun(Array(recorded.utf8)))
        for line in lines { summary.count(ArraySlice(line.utf8), isHandled: true) }
        return summary.comparison ?? RecordedRun([])
    }

    @Test(arguments: ["a\nb\n", "a\nb"]) func equalLinesDoNotDiffer(_ recorded: String) {
        #expect(RecordedRunTests.run(recorded, ["a", "b"]).differences == 0)
    }

    @Test func aDifferenceShowsExpectedAndActualText() {
        let run = RecordedRunTests.run("a\nb\nc\n", ["a", "x", "c"])
        #expect(run.differences == 1)
        #expect(run.shown == ["line 2: expected b", "line 2: got      x"])
    }

    @Test func extraAndMissingLinesAreDifferences() {
        #expect(
            RecordedRunTests.run("a\n", ["a", "b"]).shown
                == ["line 2: expected no line", "line 2: got      b"]
        )
        #expect(
            RecordedRunTests.run("a\nb\n", ["a"]).shown
                == ["line 2: expected b", "line 2: got      no line"]
        )
        #expect(RecordedRunTests.run("", ["a"]).differences == 1)
        #expect(RecordedRunTests.run("\n", [""]).differences == 0)
    }

    @Test func allDifferencesAreCountedAndTenAreShown() {
        let run = RecordedRunTests.run("", (1...25).map(String.init))
        #expect(run.differences == 25)
        let lines = (1...10).flatMap { ["line \($0): expected no line", "line \($0): got      \($0)"] }
        #expect(run.shown == lines)
    }
}
