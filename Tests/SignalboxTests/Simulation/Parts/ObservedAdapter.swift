import SignalboxCore

/// An adapter whose intake is observed.
struct ObservedAdapter: Adapter {
    let adapter: any Adapter
    let mark: IntakeMark
    let world: SimulationWorld

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    func run(into intake: any Intake) async throws {
        let observed = ObservedIntake(intake, mark, world: world)
        world.add(observed)
        try await adapter.run(into: observed)
    }
}
