import DequeModule
import Logging
public import SignalboxCore
import Synchronization

/// An arrival that was accepted and not handled, with its original bytes. It does not keep its batch alive.
public struct DeadLetter: Sendable {
    /// The source of the arrival.
    public let source: SourceName
    /// The facts the adapter supplied.
    public let facts: any OriginFacts
    /// The action's name, or `nil` if the message could not be read.
    public let action: ActionName?
    /// The action's id, or `nil` if the message could not be read.
    public let id: ActionID?
    /// The time of receipt, by the wall clock.
    public let receivedAt: WallTime
    /// The message as received.
    public let original: Bytes
    /// The reason it was not handled: `rejected` or `failed`.
    public let outcome: Outcome
    /// The number of attempts that were started, including middleware and decoding; 0 if it was decided before the
    /// first. With ordering by key the body is decoded before the first attempt.
    public let attempts: Int
    /// The envelope the message was read with, for ``explanation``.
    let envelope: EnvelopeKind
    /// The plugin it was meant for, or `nil` if none was found.
    let plugin: PluginOutline?
    /// Whether the outcome is that of the last attempt. Otherwise the supervisor decided.
    let isOutcomeOfAttempt: Bool

    init(_ arrival: Arrival, outcome: Outcome, plugin: PluginOutline?, _ attempts: AttemptCount) {
        let origin = arrival.origin
        source = origin.source
        facts = origin.facts
        let action = try? arrival.reading.get()
        self.action = action.map { $0.name.copied() }
        id = action.map { $0.id.copied() }
        receivedAt = arrival.receivedAt
        original = arrival.original.copied()
        self.outcome = outcome
        self.attempts = attempts.started
        envelope = arrival.envelope
        self.plugin = plugin
        isOutcomeOfAttempt = attempts.isOutcomeOfLast
    }
}

/// A bounded in-memory store of a supervisor's dead letters. Safe on any thread.
public final class DeadLetterStore: Sendable {
    private struct State {
        var letters = Deque<DeadLetter>()
        var bytes = 0
        var dropped = 0
        var total = 0
        var undelivered = 0
        /// The listeners by number.
        var listeners: [Int: AsyncStream<DeadLetter>.Continuation] = [:]
        var listenersMade = 0
        var hasEnded = false

        mutating func add(_ letter: DeadLetter, _ limits: DeadLetterLimits) {
            let size = letter.original.count
            total += 1
            // A letter larger than the whole store must not evict all others.
            guard size <= limits.bytes else {
                dropped += 1
                return
            }
            letters.append(letter)
            bytes += size
            while letters.count > limits.count || bytes > limits.bytes, let oldest = letters.popFirst() {
                bytes -= oldest.original.count
                dropped += 1
            }
        }
    }

    private let state = Mutex(State())
    private let limits: DeadLetterLimits

    init(limits: DeadLetterLimits) {
        self.limits = limits
    }

    /// The stored dead letters, oldest first.
    public var letters: [DeadLetter] {
        state.withLock { Array($0.letters) }
    }

    /// The number of dead letters so far, dropped ones included.
    public var total: Int { state.withLock { $0.total } }

    /// The number of letters dropped because the store was full. They are logged at most once a minute.
    public var dropped: Int { state.withLock { $0.dropped } }

    /// The number of letters that slow listeners of ``stream(limit:)`` missed, counted once for each such listener.
    public var undelivered: Int { state.withLock { $0.undelivered } }

    /// Returns a stream of future dead letters, including those the store drops immediately. Each call returns a
    /// separate stream for one listener, which ends with the supervisor's run.
    ///
    /// Letters of one source that were decided on the same thread arrive in the order of their decisions.
    ///
    /// - Parameter limit: The maximum number of letters buffered for a slow listener, at least 1. Beyond it the oldest
    ///   are dropped from the stream and counted in ``undelivered``; the store is not affected.
    public func stream(limit: Int = 256) -> AsyncStream<DeadLetter> {
        precondition(limit >= 1, "a listener has room for at least 1 dead letter")
        let (stream, continuation) = AsyncStream.makeStream(
            of: DeadLetter.self,
            bufferingPolicy: .bufferingNewest(limit)
        )
        let number = state.withLock { state -> Int? in
            guard !state.hasEnded else { return nil }
            state.listenersMade += 1
            state.listeners[state.listenersMade] = continuation
            return state.listenersMade
        }
        if let number {
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
            }
        } else {
            continuation.finish()
        }
        return stream
    }

    func add(_ letter: DeadLetter) {
        let listeners = state.withLock { state in
            state.add(letter, limits)
            return Array(state.listeners.values)
        }
        // Without the lock, because it may resume a listener.
        for listener in listeners {
            if case .dropped = listener.yield(letter) { state.withLock { $0.undelivered += 1 } }
        }
    }

    /// Ends the streams, after the last dead letter.
    func endStreams() {
        let listeners = state.withLock { state in
            state.hasEnded = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}

/// The capacity of a dead letter store. When either limit is exceeded, the oldest letters are dropped and counted.
public struct DeadLetterLimits: Sendable, Hashable {
    /// The maximum number of dead letters, at least 1; 1,000 by default.
    public var count: Int { didSet { check() } }
    /// The maximum size of their originals, in bytes, at least 1; 16 MiB by default.
    public var bytes: Int { didSet { check() } }

    /// - Precondition: Both limits are at least 1.
    public init(count: Int = 1_000, bytes: Int = 16 * 1024 * 1024) {
        self.count = count
        self.bytes = bytes
        check()
    }

    private func check() {
        precondition(count >= 1 && bytes >= 1, "a store of dead letters keeps at least 1 letter and 1 byte")
    }
}

extension SupervisorCore {
    /// Logs the dead letters that the store dropped, at most once a minute.
    ///
    /// - Parameter now: The current tick, or `nil` at the end of the run.
    func reportDroppedLetters(at now: UInt64? = nil) {
        let dropped = deadLetters.dropped
        let count = drops.withLock { $0.take(of: dropped, at: now) }
        guard count > 0 else { return }
        logger.write(
            .dropped,
            nil,
            [
                .dropped: "\(count)", .droppedTotal: "\(dropped)",
                .advice:
                    "find out why messages are not handled, raise the store's limits, or save them from its stream",
            ]
        )
    }
}
