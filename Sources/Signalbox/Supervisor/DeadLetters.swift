import DequeModule
import Logging
public import SignalboxCore
import Synchronization

/// An arrival that was accepted but not handled, with its original bytes. A dead letter does not keep its batch in
/// memory.
///
/// With a store (``SupervisorConfiguration/store``), letters are also kept on disk.
public struct DeadLetter: Sendable {
    /// The source that the arrival came from.
    public let source: SourceName
    /// The facts about the origin that the adapter supplied.
    public let facts: any OriginFacts
    /// The action's name, or `nil` if the message could not be read.
    public let action: ActionName?
    /// The action's id, or `nil` if the message could not be read.
    public let id: ActionID?
    /// When the message was received, according to the wall clock.
    public let receivedAt: WallTime
    /// The message as it was received.
    public let original: Bytes
    /// The outcome, which is `rejected` or `failed` and contains the reason.
    public let outcome: Outcome
    /// The number of attempts that were started, including middleware and decoding, or 0 if the arrival was decided
    /// before the first attempt. With ordering by key, decoding comes before the first attempt.
    public let attempts: Int
    /// The envelope that the message was read with, which is kept for ``explanation``.
    let envelope: EnvelopeKind
    /// The plugin that the arrival was meant for, or `nil` if none was found.
    let plugin: PluginOutline?
    /// Whether the outcome comes from the last attempt rather than from a decision of the supervisor.
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

/// Keeps a supervisor's dead letters in memory, up to a limit. Safe to use from any thread.
///
/// Use it to inspect messages that were not handled, or to store them elsewhere:
///
/// ```swift
/// for await letter in supervisor.deadLetters.stream() {
///     logger.warning("not handled: \(letter.explanation.verdict)")
/// }
/// ```
public final class DeadLetterStore: Sendable {
    private struct State {
        var letters = Deque<DeadLetter>()
        var bytes = 0
        var dropped = 0
        var total = 0
        var undelivered = 0
        /// The listeners, identified by number.
        var listeners: [Int: AsyncStream<DeadLetter>.Continuation] = [:]
        var listenersMade = 0
        var hasEnded = false

        mutating func add(_ letter: DeadLetter, _ limits: DeadLetterLimits) {
            let size = letter.original.count
            total += 1
            // A letter that is larger than the whole store must not evict all the others.
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

    /// The dead letters in the store, oldest first.
    public var letters: [DeadLetter] {
        state.withLock { Array($0.letters) }
    }

    /// Returns up to `count` of the newest letters, oldest first.
    package func last(_ count: Int) -> [DeadLetter] {
        state.withLock { Array($0.letters.suffix(count)) }
    }

    /// The number of dead letters so far, including those that were dropped.
    public var total: Int { state.withLock { $0.total } }

    /// The number of letters that were dropped because the store was full. The supervisor logs this number at most once
    /// per minute.
    public var dropped: Int { state.withLock { $0.dropped } }

    /// The number of letters that slow listeners of ``stream(limit:)`` missed. A letter is counted once for each
    /// listener that missed it.
    public var undelivered: Int { state.withLock { $0.undelivered } }

    /// Returns a stream of future dead letters, including those that the store drops immediately. Every call returns a
    /// separate stream, which is meant for a single listener and ends when the supervisor's run ends.
    ///
    /// If two letters from the same source were decided on the same thread, they arrive in the order in which they were
    /// decided.
    ///
    /// - Parameter limit: The maximum number of letters that are buffered for a slow listener, at least 1. When there
    ///   are more, the oldest letters are dropped from the stream and counted in ``undelivered``. The store is not
    ///   affected.
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
        // Yielding may resume a listener, so the lock must not be held here.
        for listener in listeners {
            if case .dropped = listener.yield(letter) { state.withLock { $0.undelivered += 1 } }
        }
    }

    /// Ends all streams. The supervisor calls this method after the last dead letter.
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
    /// The maximum number of dead letters. Must be at least 1; the default is 1,000.
    public var count: Int { didSet { check() } }
    /// The maximum total size of the original messages, in bytes. Must be at least 1; the default is 16 MiB.
    public var bytes: Int { didSet { check() } }

    /// Creates dead letter limits.
    ///
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
    /// Logs how many dead letters the store has dropped, at most once per minute.
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
