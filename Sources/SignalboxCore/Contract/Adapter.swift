import Synchronization

/// Converts the messages of one source into arrivals. An adapter depends on no plugin and no supervisor.
public protocol Adapter: Sendable {
    /// The configured source of the arrivals.
    var source: SourceName { get }

    /// The capabilities of this kind of source.
    var features: AdapterFeatures { get }

    /// Receives messages until the task is cancelled, which requests a graceful stop. It then stops reading, waits
    /// until the sink has received every outcome (the supervisor bounds the wait), sends acknowledgements and returns.
    ///
    /// If ``Intake/submit(_:to:)`` accepts only part of a batch, the adapter stops reading until ``Intake/room()``
    /// returns. If `room()` throws, the adapter stops gracefully.
    ///
    /// - Throws: An error that makes further work pointless. After a lost connection the adapter reconnects instead.
    func run(into intake: any Intake) async throws
}

/// The capabilities of a kind of source. The supervisor and the conformance suite read them.
public struct AdapterFeatures: OptionSet, Sendable, Hashable {
    /// The bits, one per feature.
    public let rawValue: UInt32

    /// - Parameter rawValue: The bits, one per feature.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The sender of an arrival receives the outcome as a reply.
    public static let replies = AdapterFeatures(rawValue: 1 << 0)
    /// The program can send unsolicited messages through ``Arrival/sender``.
    public static let pushes = AdapterFeatures(rawValue: 1 << 1)
    /// The source redelivers unacknowledged messages, so the ack deadline limits how long an arrival is held.
    public static let redelivers = AdapterFeatures(rawValue: 1 << 2)
    /// The source's navigation can be decided by a navigation chain.
    public static let navigates = AdapterFeatures(rawValue: 1 << 3)
    /// A sender's id identifies one message within the whole source, so a repeated id means a redelivery. Not set where
    /// each page or connection numbers its own messages.
    public static let stableIDs = AdapterFeatures(rawValue: 1 << 4)
}

/// An adapter's entry point to the supervisor. First in, first out per source and lane.
public protocol Intake: Sendable {
    /// Accepts arrivals from the front of `batch`, up to the free room in the source's window.
    ///
    /// Never blocks; callable from any thread. Accepted arrivals wait in the window until the supervisor opens. Each
    /// accepted arrival is settled exactly once through `sink`. The caller keeps the others.
    ///
    /// - Returns: The number accepted, 0 to `batch.count`. Always 0 once the supervisor drains.
    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int

    /// Suspends until a quarter of the window is free. Cancellation does not end the wait; the supervisor closes the
    /// intake when it stops an adapter.
    ///
    /// - Throws: ``SourceClosed`` when the supervisor drains or has stopped and accepts no more arrivals.
    func room() async throws(SourceClosed)
}

/// An error thrown when the intake accepts no more arrivals because the supervisor drains or has stopped.
public struct SourceClosed: Error, Sendable, Hashable {
    /// Creates the error. An intake throws it once it is closed.
    public init() {}
}

/// An adapter's receiver for the outcomes of its arrivals.
///
/// Both methods may be called on any thread, in any order between arrivals, and from inside ``Intake/submit(_:to:)``.
/// They must not block or call `submit`.
public protocol SettlementSink: AnyObject, Sendable {
    /// Signals that Signalbox has custody: the arrival is journaled, or settled if there is no journal. Called at most
    /// once per token, before ``settle(_:_:)``, and never for an abandoned arrival.
    func mayAcknowledge(_ token: UInt64)

    /// Delivers the arrival's outcome. Called exactly once per accepted arrival.
    func settle(_ token: UInt64, _ outcome: Outcome)
}

extension Intake {
    /// Submits a batch and waits for all outcomes. A convenience for tests and command-line tools.
    ///
    /// A plugin must not await a delivery to itself: its lane would wait for itself until the timeout.
    ///
    /// - Precondition: The tokens of the batch are unique.
    /// - Returns: The outcomes in the order of `batch`; `abandoned(drain)` for arrivals that the intake did not accept.
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

/// Collects the outcomes of one delivered batch until all accepted arrivals are settled.
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
