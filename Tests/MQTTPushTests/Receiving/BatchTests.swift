import AdapterSupport
import BrokerKit
import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import MQTTPush

@Suite struct BatchSinkTests {
    private func make(_ count: Int, generation: UInt32 = 7) throws -> (BatchSink, [UInt64]) {
        let sink = BatchSink(wake: try WakeSignal())
        sink.begin(generation: generation, count: count)
        return (sink, (0..<count).map { BatchSink.token(generation: generation, index: $0) })
    }

    @Test func aBatchIsDoneWhenEachSubmittedMessageIsSettled() throws {
        let (sink, tokens) = try make(3)
        sink.mayAcknowledge(tokens[2])
        sink.mayAcknowledge(tokens[0])
        #expect(!sink.isDone)
        sink.finishSubmitting(taken: 2)
        #expect(sink.isDone && sink.abandoned == 0)
    }

    @Test func anOutcomeAfterCustodyCountsOnce() throws {
        let (sink, tokens) = try make(2)
        sink.finishSubmitting(taken: 2)
        sink.mayAcknowledge(tokens[0])
        sink.settle(tokens[0], .handled(reply: nil))
        sink.settle(tokens[0], .abandoned(.stop))
        #expect(!sink.isDone && sink.abandoned == 0)
        sink.settle(tokens[1], .abandoned(.ackDeadline))
        #expect(sink.isDone && sink.abandoned == 1)
    }

    @Test func settlementsOfAnEarlierBatchAndUnknownTokensAreIgnored() throws {
        let (sink, tokens) = try make(1)
        sink.finishSubmitting(taken: 1)
        sink.begin(generation: 8, count: 1)
        sink.finishSubmitting(taken: 1)
        sink.settle(tokens[0], .abandoned(.stop))
        sink.mayAcknowledge(BatchSink.token(generation: 8, index: 1))
        sink.mayAcknowledge(UInt64.max)
        #expect(!sink.isDone && sink.abandoned == 0)
        sink.mayAcknowledge(BatchSink.token(generation: 8, index: 0))
        #expect(sink.isDone)
    }

    @Test func theLastSettlementWakesTheThread() throws {
        let wake = try WakeSignal()
        let sink = BatchSink(wake: wake)
        sink.begin(generation: 1, count: 1)
        sink.finishSubmitting(taken: 1)
        #expect(!SocketWait(socket: -1, for: .readable, wake: wake.readEnd, limit: .zero).isWoken)
        sink.mayAcknowledge(BatchSink.token(generation: 1, index: 0))
        #expect(SocketWait(socket: -1, for: .readable, wake: wake.readEnd, limit: .zero).isWoken)
        wake.drain()
        #expect(!SocketWait(socket: -1, for: .readable, wake: wake.readEnd, limit: .zero).isWoken)
    }
}

@Suite struct BatchSizingTests {
    private func make(bound: Int = 250) -> BatchSizing {
        BatchSizing(bound: bound, ackDeadline: .seconds(8))
    }

    @Test func theFirstBatchHasOneMessage() {
        #expect(make().target == 1)
    }

    @Test func quicklySettledFullBatchesDoubleTheTargetUpToTheBound() {
        var sizing = make(bound: 10)
        var targets: [Int] = []
        for _ in 0..<5 {
            sizing.settled(sizing.target, after: .milliseconds(999))
            targets.append(sizing.target)
        }
        #expect(targets == [2, 4, 8, 10, 10])
    }

    @Test func aPartialBatchDoesNotChangeTheTarget() {
        var sizing = make()
        sizing.settled(1, after: .zero)
        sizing.settled(1, after: .zero)
        #expect(sizing.target == 2)
    }

    @Test func mediumDurationsDoNotChangeTheTarget() {
        var sizing = make()
        sizing.settled(1, after: .zero)
        for duration: Duration in [.seconds(1), .seconds(4)] { sizing.settled(2, after: duration) }
        #expect(sizing.target == 2)
    }

    @Test func aSlowBatchHalvesTheTargetDownToOne() {
        var sizing = make()
        for _ in 0..<6 { sizing.settled(sizing.target, after: .zero) }
        #expect(sizing.target == 64)
        sizing.settled(20, after: .milliseconds(4_001))
        #expect(sizing.target == 10)
        for _ in 0..<5 { sizing.settled(sizing.target, after: .seconds(5)) }
        #expect(sizing.target == 1)
    }

    @Test func aPluginOfConstantDurationNeverExceedsTheAckDeadline() {
        for milliseconds in [1, 7, 40, 333, 1_000, 3_999] {
            var sizing = make()
            for _ in 0..<50 {
                let hold = Duration.milliseconds(milliseconds * sizing.target)
                #expect(hold < .seconds(8))
                sizing.settled(sizing.target, after: hold)
            }
        }
    }

    @Test func aResetReturnsToOneMessage() {
        var sizing = make()
        sizing.settled(1, after: .zero)
        sizing.reset()
        #expect(sizing == make())
    }
}

/// A message that the publisher sends twice in a row. The source submits nothing while a batch is unsettled, so both
/// copies can share the next batch.
@Suite(.timeLimit(.minutes(10)))
struct BatchDeduplicationTests {
    /// Forwards every batch and records which ids it contained.
    private struct RecordingBatchIntake: Intake {
        let intake: any Intake
        let batches: EventList<[String]>

        func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
            let taken = intake.submit(batch, to: sink)
            batches.append(batch.prefix(taken).map { (try? $0.reading.get().id.text) ?? "unreadable" })
            return taken
        }

        func room() async throws(SourceClosed) { try await intake.room() }
    }

    private struct RecordingBatchAdapter: Adapter {
        let adapter: MQTTPushAdapter
        let batches: EventList<[String]>

        var source: SourceName { adapter.source }
        var features: AdapterFeatures { adapter.features }

        func run(into intake: any Intake) async throws {
            try await adapter.run(into: RecordingBatchIntake(intake: intake, batches: batches))
        }
    }

    /// The number of pairs after which the test fails if none shared a batch. Full batches grow.
    private static let pairs = 200

    @Test func aDuplicateInTheSameBatchSharesTheOutcomeOfOneCall() async throws {
        try await Broker.with { broker in
            let quiet = Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
            var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("push")])
            // The broker must read all acknowledgements before the next run takes over the session.
            configuration.lingerTimeout = .seconds(300)
            // Creates the session: the broker keeps messages published after this run.
            try await PushTrial.run(configuration) { _ in }
            let adapter = try MQTTPushAdapter(configuration, logger: quiet)
            let calls = Mutex<[String: Int]>([:])
            let settledIDs = EventList<String>()
            var bounds = SupervisorConfiguration.patient
            bounds.onOutcome = { settled in
                guard let id = try? settled.arrival.reading.get().id.text else { return }
                settledIDs.append("\(id) \(settled.outcome.code)\(settled.isDuplicate ? " again" : "")")
            }
            let supervisor = Supervisor(configuration: bounds, logger: quiet)
            try supervisor.register(
                Registration("work", as: RawBody.self, from: .source("push")) { _, context in
                    await Task.yield()
                    calls.withLock { $0[context.id.text, default: 0] += 1 }
                }
            )
            let recordingAdapter = RecordingBatchAdapter(adapter: adapter, batches: EventList())
            try supervisor.add(recordingAdapter, deduplication: .within(DeduplicationLimits()))
            try await supervisor.whileRunning {
                let id = try await Self.sendPairs(to: broker, recordingAdapter.batches, settledIDs)
                // One call settles both.
                #expect(settledIDs.all.filter { $0.hasPrefix("\(id) ") } == ["\(id) handled", "\(id) handled again"])
            }
            #expect(calls.withLock { $0.values.allSatisfy { $0 == 1 } })
            // All messages were acknowledged, including the duplicates.
            try await PushTrial.run(configuration) { trial in
                try await broker.publish(lines: [#"{"action":"work","id":"last","body":1}"#], to: "push")
                #expect(await trial.firstID() == "last")
            }
        }
    }

    /// - Returns: The id of the first pair that arrived in one batch.
    private static func sendPairs(
        to broker: Broker,
        _ batches: EventList<[String]>,
        _ settledIDs: EventList<String>
    ) async throws -> String {
        for number in 0..<pairs {
            let others = (0..<20).map { #"{"action":"work","id":"o\#(number)-\#($0)","body":1}"# }
            let pair = [String](repeating: #"{"action":"work","id":"p\#(number)","body":1}"#, count: 2)
            try await broker.publish(lines: others + pair, to: "push")
            let id = "p\(number)"
            _ = await settledIDs.wait { settledIDs in settledIDs.count { $0.hasPrefix("\(id) ") } >= 2 }
            if batches.all.contains(where: { batch in batch.count { $0 == id } == 2 }) { return id }
        }
        throw ConformanceError("none of the \(pairs) pairs arrived in one batch")
    }
}
