import SignalboxCore
import SignalboxTesting

/// An adapter that runs its feeder, and then ends or waits for its cancellation.
struct FedAdapter: Adapter {
    let scenario: SourceScenario
    let feeder: Feeder

    var source: SourceName { scenario.name }
    var features: AdapterFeatures { scenario.features }

    func run(into intake: any Intake) async {
        // Always behind an ObservedAdapter.
        guard let intake = intake as? ObservedIntake else { return }
        await feeder.feed(into: intake)
        guard scenario.kind == .adapter else { return }
        await Watched(false).until { $0 }
    }
}
