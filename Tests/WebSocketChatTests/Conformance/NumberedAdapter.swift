import SignalboxCore
import SignalboxTesting

/// An adapter that tells its runs apart for the far side, which may still have a connection of the last one.
struct NumberedAdapter: Adapter {
    let adapter: any Adapter
    let runs: Watched<Runs>
    /// Called before a run begins, with its number.
    var begins: @Sendable (Int) throws -> Void = { _ in }

    struct Runs: Sendable {
        var count = 0
        var current: Int?
    }

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    func run(into intake: any Intake) async throws {
        let number = runs.value.count + 1
        try begins(number)
        runs.change { $0 = Runs(count: number, current: number) }
        defer { runs.change { $0.current = nil } }
        try await adapter.run(into: intake)
    }

    /// The run that is going on, waited for.
    func current() async throws -> Int {
        guard await runs.until({ $0.current != nil }), let current = runs.value.current else {
            throw CancellationError()
        }
        return current
    }
}
