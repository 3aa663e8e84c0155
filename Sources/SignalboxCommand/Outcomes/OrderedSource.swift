import SignalboxCore
import Synchronization

/// An adapter whose arrivals come out in order, and that remembers how it ended.
final class OrderedSource: Adapter {
    /// How an adapter's run came to its end.
    enum End: Sendable {
        /// It had nothing more to bring.
        case complete
        /// It was asked to stop.
        case stopped
        /// It could not go on.
        case failed(any Error)
    }

    private let adapter: any Adapter
    private let outcomes: OrderedOutcomes
    private let noted = Mutex(End.stopped)

    init(_ adapter: any Adapter, outcomes: OrderedOutcomes) {
        self.adapter = adapter
        self.outcomes = outcomes
    }

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    /// How it ended; `stopped` as well when it never began.
    var end: End { noted.withLock { $0 } }

    func run(into intake: any Intake) async throws {
        do {
            try await adapter.run(into: OrderedIntake(intake: intake, outcomes: outcomes))
        } catch {
            noted.withLock { $0 = .failed(error) }
            throw error
        }
        if !Task.isCancelled { noted.withLock { $0 = .complete } }
    }
}
