import Logging
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import Signalbox

@Suite struct RejectionTallyTests {
    private static let minute: UInt64 = 600

    /// Adds rejections of one reason, of which each is the next settled message.
    private static func add(_ count: Int, to tally: inout RejectionTally, at now: UInt64, after settled: Int)
        -> [RejectionTally.Line]
    {
        (1...count).map { tally.add(.idConflict, at: now, settled: settled + $0) }
    }

    @Test func aSummaryReplacesTheLinesOfTheReasonOnceAMinute() {
        var tally = RejectionTally(ticksPerMinute: Self.minute)
        let lines = Self.add(2_999, to: &tally, at: 5, after: 1)
        #expect(lines.prefix(19).allSatisfy { $0 == .single })
        let first = RejectionTally.Summary(reason: .idConflict, rejected: 20, messages: 21, ticks: 5)
        #expect(lines[19] == .summary(first))
        #expect(lines.dropFirst(20).allSatisfy { $0 == .none })
        #expect(tally.add(.expired, at: 6, settled: 3_001) == .single)
        #expect(tally.tick(at: 599, settled: 3_001) == nil)
        let whole = RejectionTally.Summary(reason: .idConflict, rejected: 2_999, messages: 3_001, ticks: Self.minute)
        #expect(tally.tick(at: 600, settled: 3_001) == whole)
        #expect(Self.add(30, to: &tally, at: 700, after: 3_001).allSatisfy { $0 == .none })
        #expect(tally.flush(at: 710, settled: 3_031)?.rejected == 30)
        #expect(tally.flush(at: 710, settled: 3_031) == nil)
    }

    @Test func aMinorityHasALineForEachRejection() {
        var tally = RejectionTally(ticksPerMinute: Self.minute)
        for number in 1...500 {
            #expect(tally.add(.invalidBody, at: 1, settled: number * 3) == .single)
        }
        #expect(tally.tick(at: 1_000, settled: 1_000) == nil)
    }

    @Test func aBurstAfterManyHandledMessagesHasALineForEachRejection() {
        var tally = RejectionTally(ticksPerMinute: Self.minute)
        #expect(Self.add(25, to: &tally, at: 300, after: 1_000).allSatisfy { $0 == .single })
        #expect(tally.tick(at: 600, settled: 9_000) == nil)
    }

    @Test func singleLinesReturnAfterAMinuteWithFewRejections() {
        var tally = RejectionTally(ticksPerMinute: Self.minute)
        _ = Self.add(100, to: &tally, at: 0, after: 0)
        #expect(tally.tick(at: 600, settled: 100)?.rejected == 100)
        #expect(tally.add(.idConflict, at: 700, settled: 5_000) == .none)
        #expect(tally.tick(at: 1_300, settled: 9_000)?.rejected == 1)
        #expect(tally.add(.idConflict, at: 1_400, settled: 9_001) == .single)
    }

    @Test func theLogSaysOnceAMinuteThatMostMessagesAreRejected() async throws {
        let lines = EventList<String>()
        let clock = ManualClock()
        let logger = Logger(label: "summary") { _ in RecordingLog(lines) }
        let supervisor = Supervisor(logger: logger, clock: clock)
        try supervisor.register(Registration("work", as: [String: Int].self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        let messages = (0..<400).map { message("work", id: "same", body: "{\"n\":\($0)}") }
        try await supervisor.whileRunning {
            _ = await intake.deliver(arrivals([message("work", id: "same", body: "{}")]))
            _ = await intake.deliver(arrivals(messages))
            await clock.tick(601)
            let all = lines.all
            let summaries = all.filter { line in line.contains("many messages are rejected for the same reason: ") }
            #expect(all.count { line in line.contains("dead letter: ") } == RejectionTally.minimum - 1)
            #expect(summaries.count == 2, "\(summaries)")
            #expect(summaries.last?.contains("400 of 401 in 60 s: idConflict") == true, "\(summaries)")
            #expect(summaries.last?.contains("publishers send the same {id}") == true, "\(summaries)")
        }
    }
}
