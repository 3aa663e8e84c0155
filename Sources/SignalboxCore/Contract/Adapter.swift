import Synchronization

/// Turns what one source brings into arrivals. It knows no plugin and no supervisor.
public protocol Adapter: Sendable {
    /// The configured source whose arrivals these are.
    var source: SourceName { get }

    /// What this kind of source can do.
    var features: AdapterFeatures { get }

    /// Receives until its task is cancelled, which is the graceful stop: read no more, wait until the sink has heard of
    /// every arrival taken (the supervisor bounds that wait), let the acknowledgements out, return.
    ///
    /// When ``Intake/submit(_:to:)`` takes less than all, the adapter stops reading until ``Intake/room()`` returns; when
    /// that throws it stops gracefully.
    ///
    /// - Throws: what makes further work pointless. A lost connection is not such a thing: the adapter reconnects.
    func run(into intake: any Intake) async throws
}

/// What a kind of source can do: the supervisor and the conformance suite read it.
public struct AdapterFeatures: OptionSet, Sendable, Hashable {
    /// The bits, one per feature.
    public let rawValue: UInt32

    /// - Parameter rawValue: the bits, one per feature.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// An outcome is answered to whoever sent the arrival.
    public static let replies = AdapterFeatures(rawValue: 1 << 0)
    /// The program can send unasked, through ``Arrival/sender``.
    public static let pushes = AdapterFeatures(rawValue: 1 << 1)
    /// What was not acknowledged comes again, so an arrival is held at most for the hold limit.
    public static let redelivers = AdapterFeatures(rawValue: 1 << 2)
    /// The source can have its navigation decided.
    public static let navigates = AdapterFeatures(rawValue: 1 << 3)
    /// An id that a sender gives stands for one message in the whole source: when it comes again it is the same message
    /// again. Not so where each page or connection counts its messages for itself.
    public static let stableIDs = AdapterFeatures(rawValue: 1 << 4)
}

/// The way into the supervisor for one adapter. First in, first out per source and lane.
public protocol Intake: Sendable {
    /// Takes as many arrivals from the front of `batch` as the source's window has room for.
    ///
    /// Never blocks; any thread. Before the supervisor opens, what was taken waits in the window. Each arrival taken is
    /// settled exactly once through `sink`; those not taken still belong to the caller.
    ///
    /// - Returns: the number taken, 0 to `batch.count`; 0 while the supervisor drains and after.
    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int

    /// Returns when a quarter of the window is free. A cancelled caller waits as well: the supervisor closes the intake
    /// when it stops an adapter.
    ///
    /// - Throws: ``SourceClosed`` when the supervisor drains or has stopped: nothing more will be taken.
    func room() async throws(SourceClosed)
}

/// The intake takes no more arrivals: the supervisor drains or has stopped.
public struct SourceClosed: Error, Sendable, Hashable {
    /// Made by whoever closes an intake.
    public init() {}
}

/// Where an adapter hears what became of its arrivals.
///
/// Both calls come on any thread, in any order between arrivals, also from inside ``Intake/submit(_:to:)``; they must
/// not block, and must not call `submit`.
public protocol SettlementSink: AnyObject, Sendable {
    /// Signalbox has custody: the arrival is journalled, or settled where there is no journal. At most once per token,
    /// before ``settle(_:_:)``, and never for an arrival that is abandoned.
    func mayAcknowledge(_ token: UInt64)

    /// The one outcome of the arrival. Exactly once per token of an arrival that was taken.
    func settle(_ token: UInt64, _ outcome: Outcome)
}

extension Intake {
    /// Submits a batch and waits for every outcome: a convenience for tests and command lines.
    ///
    /// Must not be awaited by a plugin that is itself the target: its lane would wait for itself until the timeout.
    ///
    /// - Precondition: the tokens of the batch differ from each other.
    /// - Returns: the outcomes in the order of `batch`; `abandoned(drain)` for what was not taken any more.
    public func deliver(_ batch: [Arrival]) async -> [Outcome] {
        let collector = OutcomeCollector()
        var taken = 0
        while taken < batch.count {
            taken += submit(Array(batch[taken...]), to: collector)
            guard taken < batch.count else { break }
            do { try await room() } catch { break }
        }
        let outcomes = await collector.outcomes(taken)
        return batch.map { outcomes[$0.token] ?? .abandoned(.drain) }
    }
}

/// Keeps the outcomes of one delivered batch until there are as many as were taken.
package final class OutcomeCollector: SettlementSink {
    private struct State {
        var outcomes: [UInt64: Outcome] = [:]
        var expected = Int.max
        var waiter: UnsafeContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package func mayAcknowledge(_ token: UInt64) {}

    package func settle(_ token: UInt64, _ outcome: Outcome) {
        let waiter = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            state.outcomes[token] = outcome
            guard state.outcomes.count >= state.expected else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func outcomes(_ count: Int) async -> [UInt64: Outcome] {
        await withUnsafeContinuation { continuation in
            let isComplete = state.withLock { state in
                state.expected = count
                guard state.outcomes.count < count else { return true }
                state.waiter = continuation
                return false
            }
            if isComplete { continuation.resume() }
        }
        return state.withLock { $0.outcomes }
    }
}
