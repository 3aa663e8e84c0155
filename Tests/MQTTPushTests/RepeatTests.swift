import BrokerKit
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

/// A message that the publisher sends twice, the second time while the first is running: the source submits nothing while a batch is
/// unsettled, so both are in one.
@Suite(.timeLimit(.minutes(10)))
struct RepeatTests {
    /// Passes everything on, and keeps which ids came together.
    private struct NotingIntake: Intake {
        let intake: any Intake
        let batches: EventList<[String]>

        func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
            let taken = intake.submit(batch, to: sink)
            batches.append(batch.prefix(taken).map { (try? $0.reading.get().id.text) ?? "unreadable" })
            return taken
        }

        func room() async throws(SourceClosed) { try await intake.room() }
    }

    private struct NotingAdapter: Adapter {
        let adapter: MQTTPushAdapter
        let batches: EventList<[String]>

        var source: SourceName { adapter.source }
        var features: AdapterFeatures { adapter.features }

        func run(into intake: any Intake) async throws {
            try await adapter.run(into: NotingIntake(intake: intake, batches: batches))
        }
    }

    /// How many pairs are sent before it is taken for a fault that none came in one batch: batches grow with each that is full.
    private static let pairs = 200

    @Test func aRepeatInTheSameBatchHasTheOutcomeOfTheFirstByOneCall() async throws {
        try await Broker.with { broker in
            let quiet = Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
            var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("push")])
            // All acknowledgements are read before the next run takes the session over.
            configuration.farewellTimeout = .seconds(300)
            // From then on the broker keeps what is published.
            try await PushTrial.run(configuration) { _ in }
            let adapter = try MQTTPushAdapter(configuration, logger: quiet)
            let calls = Mutex<[String: Int]>([:])
            let told = EventList<String>()
            var bounds = SupervisorConfiguration.patient
            bounds.onOutcome = { settled in
                guard let id = try? settled.arrival.reading.get().id.text else { return }
                told.append("\(id) \(settled.outcome.code)\(settled.isRepeat ? " again" : "")")
            }
            let supervisor = Supervisor(configuration: bounds, logger: quiet)
            try supervisor.register("work", as: RawBody.self, from: .source("push")) { _, context in
                await Task.yield()
                calls.withLock { $0[context.id.text, default: 0] += 1 }
            }
            let noting = NotingAdapter(adapter: adapter, batches: EventList())
            try supervisor.add(noting, repeats: .within(RepeatLimits()))
            try await supervisor.whileRunning {
                let id = try await Self.sendPairs(to: broker, noting.batches, told)
                // Both are settled with the one call that was made.
                #expect(told.all.filter { $0.hasPrefix("\(id) ") } == ["\(id) handled", "\(id) handled again"])
            }
            #expect(calls.withLock { $0.values.allSatisfy { $0 == 1 } })
            // Everything was acknowledged, the repeats too.
            try await PushTrial.run(configuration) { trial in
                try await broker.publish(lines: [#"{"action":"work","id":"last","body":1}"#], to: "push")
                #expect(await trial.firstID() == "last")
            }
        }
    }

    /// - Returns: the id of the first pair that came in one batch.
    private static func sendPairs(
        to broker: Broker,
        _ batches: EventList<[String]>,
        _ told: EventList<String>
    ) async throws -> String {
        for number in 0..<pairs {
            let others = (0..<20).map { #"{"action":"work","id":"o\#(number)-\#($0)","body":1}"# }
            let pair = [String](repeating: #"{"action":"work","id":"p\#(number)","body":1}"#, count: 2)
            try await broker.publish(lines: others + pair, to: "push")
            let id = "p\(number)"
            _ = await told.wait { told in told.count { $0.hasPrefix("\(id) ") } >= 2 }
            if batches.all.contains(where: { batch in batch.count { $0 == id } == 2 }) { return id }
        }
        throw ConformanceError("no two messages of \(pairs) pairs came in one batch")
    }
}
