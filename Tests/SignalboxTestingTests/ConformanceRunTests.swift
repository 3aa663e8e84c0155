import SignalboxCore
import Testing

@testable import SignalboxTesting

/// The findings of the observing intake when the supervisor is at fault.
@Suite struct ConformanceRunTests {
    private final class Sink: SettlementSink {
        func mayAcknowledge(_ token: UInt64) {}
        func settle(_ token: UInt64, _ outcome: Outcome) {}
    }

    private let sink = Sink()

    private func key(_ token: UInt64) -> ConformanceRun.Key {
        ConformanceRun.Key(sink: ObjectIdentifier(sink), token: token)
    }

    /// Returns a run with two unsettled arrivals.
    private func makeRun() -> ConformanceRun {
        var run = ConformanceRun(InMemoryAdapter(source: "memory", features: []), batchBound: 2)
        run.hasBegun = true
        run.offer([key(1), key(2)], from: ["memory"], withSenders: 0)
        run.take(2, of: [key(1), key(2)], ids: ["a", nil])
        return run
    }

    private func handle(_ token: UInt64, in run: inout ConformanceRun) {
        run.acknowledge(key(token))
        run.settle(key(token), .handled(reply: nil))
    }

    @Test func aConformingRunHasNoProblems() {
        var run = makeRun()
        handle(1, in: &run)
        run.settle(key(2), .abandoned(.drain))
        run.returned()
        run.supervisorEnded()
        run.end()
        #expect(run.takeProblems().isEmpty)
        #expect(run.taken == ["a", nil] && run.acknowledged == 1 && run.abandoned == 1 && run.peak == 2)
    }

    @Test func aShortSubmitOrAWaitForRoomMeansAFullWindow() {
        var run = makeRun()
        #expect(!run.hasFilled(2))
        run.roomRequested()
        #expect(run.hasFilled(2) && !run.hasFilled(3))
        run.roomReturned(isOpen: true)
        #expect(!run.hasFilled(2))
        run.offer([key(3)], from: ["memory"], withSenders: 0)
        run.take(0, of: [key(3)], ids: ["c"])
        #expect(run.hasFilled(2) && !run.hasFilled(3))
        #expect(run.takeProblems().isEmpty)
    }

    @Test func aRecordNamesAllCurrentSteps() async throws {
        let record = Watched(ConformanceRecord())
        await record.during("sending 2 messages") {
            await record.during("waiting for the last") {
                #expect(record.value.step == "sending 2 messages and waiting for the last")
            }
            #expect(record.value.summary.hasPrefix("sending 2 messages; "))
        }
        try? await record.during("waiting for an answer") { throw CancellationError() }
        #expect(record.value.step == "waiting for an answer")
    }

    @Test func aDoubleSettlementIsDetected() {
        var run = makeRun()
        handle(1, in: &run)
        run.settle(key(1), .handled(reply: nil))
        #expect(run.takeProblems().map(\.expected) == ["an arrival taken is settled once"])
    }

    @Test func anAcknowledgedAbandonedArrivalIsDetected() {
        var run = makeRun()
        run.acknowledge(key(1))
        run.settle(key(1), .abandoned(.stop))
        #expect(run.takeProblems().map(\.expected) == ["an abandoned arrival is not acknowledged"])
    }

    @Test func aMissingAcknowledgementIsDetected() {
        var run = makeRun()
        run.settle(key(1), .handled(reply: nil))
        #expect(run.takeProblems().map(\.expected) == ["mayAcknowledge is called before settle"])
    }

    @Test func lateAndRepeatedAcknowledgementsAreDetected() {
        var run = makeRun()
        run.acknowledge(key(1))
        handle(1, in: &run)
        run.acknowledge(key(1))
        #expect(
            run.takeProblems().map(\.expected) == [
                "mayAcknowledge is called once per arrival", "mayAcknowledge is called only for unsettled arrivals",
            ]
        )
    }

    @Test func theSettlementOfAnUntakenArrivalIsDetected() {
        var run = makeRun()
        handle(1, in: &run)
        handle(2, in: &run)
        run.offer([key(3)], from: ["memory"], withSenders: 0)
        handle(3, in: &run)
        run.take(0, of: [key(3)], ids: ["c"])
        #expect(run.takeProblems().map(\.expected) == ["an arrival that was not taken is not settled"])
    }

    @Test func missingSettlementsAndHungRunsAreDetected() {
        var run = makeRun()
        handle(1, in: &run)
        run.supervisorEnded()
        run.end()
        #expect(
            run.takeProblems().map(\.expected) == [
                "every arrival taken is settled", "a cancelled run returns",
            ]
        )
    }
}
