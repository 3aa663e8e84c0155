import Synchronization

/// Receives messages from a source and converts each one into an arrival.
///
/// Conform a type to this protocol to connect a new transport to a supervisor. An adapter does not depend on any plugin
/// or supervisor. The conformance suite in `SignalboxTesting` checks that an adapter fulfils this contract.
public protocol Adapter: Sendable {
    /// The configured source that the arrivals come from.
    var source: SourceName { get }

    /// The capabilities of this kind of source.
    var features: AdapterFeatures { get }

    /// Receives messages until the task is cancelled.
    ///
    /// Cancelling the task requests a graceful stop: the adapter stops reading, waits until the sink has received every
    /// outcome, sends the acknowledgements and returns. The supervisor waits only a limited time for the adapter to
    /// return.
    ///
    /// If ``Intake/submit(_:to:)`` accepts only part of a batch, the adapter stops reading until ``Intake/room()``
    /// returns. If `room()` throws an error, the adapter stops gracefully.
    ///
    /// - Throws: An error if the adapter cannot continue. If a connection is lost, the adapter reconnects instead of
    ///   throwing an error.
    func run(into intake: any Intake) async throws
}

/// An adapter that waits for outcomes before the source's window is full.
package protocol InFlightLimitedAdapter: Adapter {
    /// The number of unsettled arrivals at which the adapter submits no more. The supervisor holds at most half as many
    /// arrivals without a plugin, so that others still pass.
    var maximumUnsettled: Int { get }
}

/// An adapter whose messages come from plugins. A run does not go on for this adapter alone, and a drain stops it once the
/// arrivals of all other sources are settled.
package protocol PluginFedAdapter: Adapter {}

/// An adapter that knows whether it can receive messages.
package protocol ConnectingAdapter: Adapter {
    /// Why the source receives no messages at the moment, such as a lost connection, or `nil` if it does. The text contains no
    /// secret, and can be read from any thread.
    var connectionProblem: String? { get }
}

/// An adapter whose clients connect to it.
package protocol ListeningAdapter: ConnectingAdapter {
    /// Waits until the run that is in progress or begins next listens. Returns its port, or `nil` if the run has ended or the
    /// calling task is cancelled.
    func port() async -> UInt16?
}

/// The capabilities of a kind of source, which the supervisor and the conformance suite read.
public struct AdapterFeatures: OptionSet, Sendable, Hashable {
    /// The bits of the set, with one bit for each feature.
    public let rawValue: UInt32

    /// Creates a set from its bits.
    ///
    /// - Parameter rawValue: The bits of the set, with one bit for each feature.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The sender of an arrival receives the outcome as a reply.
    public static let replies = AdapterFeatures(rawValue: 1 << 0)
    /// The program can send unsolicited messages through ``Arrival/sender``.
    public static let pushes = AdapterFeatures(rawValue: 1 << 1)
    /// The source redelivers messages that are not acknowledged. The ack deadline therefore limits how long an arrival
    /// is held.
    public static let redelivers = AdapterFeatures(rawValue: 1 << 2)
    /// A navigation chain can decide on the source's navigations.
    public static let navigates = AdapterFeatures(rawValue: 1 << 3)
    /// A sender's id identifies one message within the whole source, so a repeated id means a redelivery.
    ///
    /// An adapter must not set this feature if each page or connection numbers its messages independently.
    public static let stableIDs = AdapterFeatures(rawValue: 1 << 4)
}

/// Accepts arrivals from an adapter on behalf of the supervisor.
///
/// Within each lane, a source's arrivals are handled first in, first out.
public protocol Intake: Sendable {
    /// Accepts as many arrivals from the front of `batch` as fit in the source's window.
    ///
    /// This method can be called from any thread. It does not wait for a lane, but it may call a plugin that runs inline,
    /// and settle arrivals before it returns. Do not hold a lock that `sink` or a plugin's reply needs.
    ///
    /// Accepted arrivals wait in the window until the supervisor opens, and each of them is settled exactly once through
    /// `sink`. The caller keeps the arrivals that were not accepted and submits them again later.
    ///
    /// - Returns: The number of accepted arrivals, from 0 to `batch.count`. Always 0 once the supervisor has started
    ///   draining.
    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int

    /// Suspends until a quarter of the window is free. Call this after ``submit(_:to:)`` has accepted only part of a
    /// batch.
    ///
    /// Cancelling the task does not end the wait, but closing the intake does, and the supervisor closes the intake
    /// when it stops an adapter.
    ///
    /// - Throws: ``SourceClosed`` if the supervisor accepts no more arrivals, because it is draining or has stopped.
    func room() async throws(SourceClosed)
}

/// Thrown by an intake when the supervisor accepts no more arrivals, because it is draining or has stopped.
public struct SourceClosed: Error, Sendable, Hashable {
    /// Creates the error, which an intake throws after it has been closed.
    public init() {}
}

/// Receives the outcomes of an adapter's arrivals.
///
/// Both methods may be called on any thread, for different arrivals in any order, and from inside
/// ``Intake/submit(_:to:)``. An implementation must not block and must not call `submit`.
public protocol SettlementSink: AnyObject, Sendable {
    /// Called when Signalbox has taken custody of an arrival, so the adapter may acknowledge the message.
    ///
    /// Signalbox has custody once the arrival is journaled or, if there is no journal, once it is settled. This method or
    /// ``accepted(_:)`` is called at most once per token, before ``settle(_:_:)``. For an abandoned arrival without a journal,
    /// neither is called.
    func mayAcknowledge(_ token: UInt64)

    /// Called instead of ``mayAcknowledge(_:)`` when an arrival of a source with a journal is on disk. The outcome may
    /// come much later, so an adapter with callers tells them that the message is accepted.
    ///
    /// The default calls ``mayAcknowledge(_:)``.
    func accepted(_ token: UInt64)

    /// Delivers the outcome of an arrival. This method is called exactly once for each accepted arrival.
    func settle(_ token: UInt64, _ outcome: Outcome)
}

extension SettlementSink {
    /// Calls ``mayAcknowledge(_:)``.
    public func accepted(_ token: UInt64) { mayAcknowledge(token) }
}

extension Intake {
    /// Submits a batch and waits for all outcomes. This is a convenience for tests and command-line tools.
    ///
    /// A plugin must not await a delivery to itself, because its lane would wait for its own call until the timeout
    /// expires.
    ///
    /// - Precondition: The tokens in the batch are unique.
    /// - Returns: The outcomes, in the order of `batch`. If the intake did not accept an arrival, its outcome is
    ///   `abandoned(drain)`.
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

/// Collects the outcomes of a delivered batch until all accepted arrivals are settled.
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
