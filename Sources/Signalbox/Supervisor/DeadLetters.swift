import Logging
public import SignalboxCore
import Synchronization

/// An arrival that was accepted and not handled, with the bytes as they came. It keeps no batch alive.
public struct DeadLetter: Sendable {
    /// The source it came from.
    public let source: SourceName
    /// The facts the adapter knew.
    public let facts: any OriginFacts
    /// The action's name, or `nil` when the message could not be read.
    public let action: ActionName?
    /// The action's id, or `nil` when the message could not be read.
    public let id: ActionID?
    /// When it was received, by the calendar.
    public let receivedAt: WallTime
    /// The message as it came.
    public let original: Bytes
    /// Why it was not handled: `rejected` or `failed`.
    public let outcome: Outcome
    /// How many attempts at a call were begun for it, middleware and decoding included; 0 when something else decided
    /// before the first. With an order by key the body is decoded before the first attempt.
    public let attempts: Int

    /// What ``explanation`` is made of.
    let trace: DeadLetterTrace

    init(_ arrival: Arrival, outcome: Outcome, plugin: PluginOutline?, _ attempts: AttemptsMade) {
        let origin = arrival.origin
        source = origin.source
        facts = origin.facts
        let action = try? arrival.reading.get()
        self.action = action.map { $0.name.copied() }
        id = action.map { $0.id.copied() }
        receivedAt = arrival.receivedAt
        original = arrival.original.copied()
        self.outcome = outcome
        self.attempts = attempts.begun
        trace = DeadLetterTrace(
            envelope: arrival.envelope,
            plugin: plugin,
            isOutcomeOfAttempt: attempts.isOutcomeOfLast
        )
    }
}

/// The dead letters of a supervisor, in memory, bounded. Safe on any thread.
public final class DeadLetterStore: Sendable {
    private struct State {
        /// Dropped ones are `nil` until the array is compacted, so that their bytes are free at once.
        var letters: [DeadLetter?] = []
        var first = 0
        var bytes = 0
        var dropped = 0
        var total = 0

        var count: Int { letters.count - first }

        mutating func dropOldest() {
            bytes -= letters[first]?.original.count ?? 0
            letters[first] = nil
            first += 1
            dropped += 1
        }

        mutating func compact() {
            guard first >= 64, first * 2 > letters.count else { return }
            letters.removeFirst(first)
            first = 0
        }
    }

    private let state = Mutex(State())
    private let listeners = DeadLetterListeners()
    private let limits: DeadLetterLimits

    init(limits: DeadLetterLimits) {
        self.limits = limits
    }

    /// The dead letters kept, oldest first.
    public var letters: [DeadLetter] {
        state.withLock { state in state.letters[state.first...].compactMap { $0 } }
    }

    /// How many there have been, dropped ones included.
    public var total: Int { state.withLock { $0.total } }

    /// How many were dropped because the store was full. A log line tells of them, at most once a minute.
    public var dropped: Int { state.withLock { $0.dropped } }

    /// How many did not reach a listener of ``stream(limit:)`` because it was too slow, each counted once for each such
    /// listener.
    public var undelivered: Int { listeners.undelivered }

    /// Every dead letter from now on, as it is stored, also one that the store drops at once. Any number of listeners, each
    /// with a stream of its own, which ends when the supervisor's run does.
    ///
    /// Those of one source's messages come in the order in which they were decided, as far as one thread decided them.
    ///
    /// - Parameter limit: how many wait for a slow listener, at least 1. Beyond it the oldest of them are dropped, and
    ///   counted in ``undelivered``; the store keeps its own.
    public func stream(limit: Int = 256) -> AsyncStream<DeadLetter> {
        listeners.add(limit: limit)
    }

    func add(_ letter: DeadLetter) {
        let size = letter.original.count
        state.withLock { state in
            state.total += 1
            // One that is larger than the whole store must not drive out all others.
            guard size <= limits.bytes else {
                state.dropped += 1
                return
            }
            state.letters.append(letter)
            state.bytes += size
            while state.count > limits.count || state.bytes > limits.bytes { state.dropOldest() }
            state.compact()
        }
        listeners.tell(letter)
    }

    /// Ends the streams, when no dead letter comes any more.
    func endStreams() { listeners.end() }
}

/// How much the store of dead letters keeps. When either bound is exceeded the oldest are dropped, and counted.
public struct DeadLetterLimits: Sendable, Hashable {
    /// The most dead letters, at least 1; 1,000 by default.
    public var count: Int { didSet { check() } }
    /// The most bytes of their originals, at least 1; 16 MiB by default.
    public var bytes: Int { didSet { check() } }

    /// - Precondition: both are at least 1.
    public init(count: Int = 1_000, bytes: Int = 16 * 1024 * 1024) {
        self.count = count
        self.bytes = bytes
        check()
    }

    private func check() {
        precondition(count >= 1 && bytes >= 1, "a store of dead letters keeps at least 1 letter and 1 byte")
    }
}

/// Whoever listens to the dead letters of a supervisor. Any thread.
final class DeadLetterListeners: Sendable {
    private struct State {
        var all: [Int: AsyncStream<DeadLetter>.Continuation] = [:]
        var made = 0
        var hasEnded = false
    }

    private let state = Mutex(State())
    /// Looked at for every dead letter, so that a program without listeners takes no lock.
    private let isAnyone = Atomic<Bool>(false)
    private let lost = Atomic<Int>(0)

    /// How many letters listeners were too slow for.
    var undelivered: Int { lost.load(ordering: .relaxed) }

    func add(limit: Int) -> AsyncStream<DeadLetter> {
        precondition(limit >= 1, "a listener has room for at least 1 dead letter")
        let (stream, continuation) = AsyncStream.makeStream(
            of: DeadLetter.self,
            bufferingPolicy: .bufferingNewest(limit)
        )
        let number = state.withLock { state -> Int? in
            guard !state.hasEnded else { return nil }
            state.made += 1
            state.all[state.made] = continuation
            isAnyone.store(true, ordering: .releasing)
            return state.made
        }
        if let number {
            continuation.onTermination = { [weak self] _ in self?.remove(number) }
        } else {
            continuation.finish()
        }
        return stream
    }

    /// Without a lock held: a listener may be woken from here.
    func tell(_ letter: DeadLetter) {
        guard isAnyone.load(ordering: .acquiring) else { return }
        for continuation in state.withLock({ Array($0.all.values) }) {
            if case .dropped = continuation.yield(letter) { lost.wrappingAdd(1, ordering: .relaxed) }
        }
    }

    func end() {
        let all = state.withLock { state in
            state.hasEnded = true
            return state.all.values.map { $0 }
        }
        for continuation in all { continuation.finish() }
    }

    private func remove(_ number: Int) {
        state.withLock { state in
            state.all[number] = nil
            isAnyone.store(!state.all.isEmpty, ordering: .releasing)
        }
    }
}

extension SupervisorCore {
    /// Tells of dead letters that the store dropped, at most once a minute.
    ///
    /// - Parameter now: the tick, or `nil` at the end of the run.
    func tellOfDrops(at now: UInt64? = nil) {
        let dropped = deadLetters.dropped
        let count = drops.withLock { $0.take(of: dropped, at: now) }
        guard count > 0 else { return }
        logger.write(
            .dropped,
            nil,
            [
                .dropped: "\(count)", .droppedInAll: "\(dropped)",
                .advice:
                    "find out why so much is not handled, raise the store's limits, or keep them elsewhere by its stream",
            ]
        )
    }
}
