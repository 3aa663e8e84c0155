import SignalboxCore

/// The adapter under test, with an intake that watches it put in between.
struct WatchedAdapter: Adapter {
    let adapter: any Adapter
    let number: Int
    let record: Watched<ConformanceRecord>

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    func run(into intake: any Intake) async throws {
        record.change { $0.inRun(number) { $0.begin() } }
        defer { record.change { $0.inRun(number) { $0.returned() } } }
        try await withTaskCancellationHandler {
            try await adapter.run(into: WatchedIntake(intake, number: number, record: record))
        } onCancel: {
            record.change { $0.inRun(number) { $0.askToStop() } }
        }
    }
}
