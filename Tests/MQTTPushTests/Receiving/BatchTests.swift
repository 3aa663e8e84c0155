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

/// A message that the publisher sends twice in a row, so that the source may submit both copies together.
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
