import MQTTPush
import SignalboxCore

/// The adapter as it is shipped, whose settlements pass a sink that may kill the process.
struct DyingAdapter: Adapter {
    let adapter: MQTTPushAdapter
    let tally: Tally

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    func run(into intake: any Intake) async throws {
        try await adapter.run(into: DyingIntake(intake: intake, tally: tally))
    }
}
