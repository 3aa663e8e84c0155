import SignalboxCore
import Synchronization

/// Settles the arrivals of one source, each exactly once. Safe to use from any thread.
///
/// A settler does not refer to lanes or intakes. A lane can therefore settle a slice without knowing which intake took
/// it.
final class Settler: Sendable {
    let source: SourceName
    let core: SupervisorCore
    let log: SourceLog
    let window: Window
    let admission: Admission
    /// How long an arrival may wait before it must be acknowledged, in ticks, or `nil` if the source does not redeliver
    /// messages.
    let ackDeadlineTicks: UInt64?
    /// Whether the source has a journal.
    let isJournaled: Bool
    /// Records outcomes in the supervisor's store, or `nil` if there is no store.
    let recorder: StoreRecorder?
    private let counters: OutcomeCounters
    /// Whether a task is waiting for the window to change. Each release checks this flag first, so that the release
    /// needs no lock if no task is waiting.
    private let hasWaiters = Atomic<Bool>(false)
    private let waits = Mutex(Waits())

    /// The condition that a task is waiting for. Each kind of wait can be stopped separately.
    enum Wait: Sendable {
        /// Room in the window and under the rate limit. The wait is stopped when the intake closes.
        case room
        /// An empty window at the end of the run.
        case drain
        /// An empty window, so that the source can be removed. Unlike the wait for a drain, this wait no longer
        /// includes calls in progress once its time limit has expired.
        case removal
        /// The end of a removed source's adapter. The wait ends only through ``stop(_:)``, when the supervisor decides
        /// not to wait any longer.
        case adapterEnd
        /// The end of the adapter's task. The wait ends only through ``stop(_:)``, when the task ends or is left behind.
        case adapterReturn
    }

    private struct Waits {
        var waiters: [(wait: Wait, continuation: UnsafeContinuation<Bool, Never>)] = []
        /// The kinds of wait that have been stopped. New waits of these kinds return immediately.
        var stopped: Set<Wait> = []
        /// Whether waits for room last until they are stopped, because the intake takes no more arrivals.
        var isRoomWithheld = false

        mutating func take(where isMeant: (Wait) -> Bool) -> [UnsafeContinuation<Bool, Never>] {
            let taken = waiters.filter { isMeant($0.wait) }
            waiters.removeAll { isMeant($0.wait) }
            return taken.map(\.continuation)
        }
    }

    init(
        source: SourceName,
        core: SupervisorCore,
        features: AdapterFeatures,
        options: SourceOptions,
        counters: OutcomeCounters
    ) {
        self.source = source
        self.core = core
        self.counters = counters
        window = Window(limits: options.window)
        admission = Admission(options, features, core)
        isJournaled = options.journal != nil
        recorder = core.store.map { [admission] in
            StoreRecorder(
                store: $0,
                source: source,
                deduplication: admission.deduplication,
                commits: core.pendingCommits
            )
        }
        ackDeadlineTicks =
            features.contains(.redelivers) && !isJournaled
            ? TickCount.ticks(in: core.configuration.ackDeadline, of: core.configuration.tick) : nil
        log = SourceLog(source: source, core: core, counters: counters)
    }

    /// Whether an abandoned arrival is delivered again, by the source or from its journal.
    var redelivers: Bool { ackDeadlineTicks != nil || isJournaled }
}

// MARK: - Settlement

extension Settler {
    /// Records the outcome for an arrival and its duplicates, and notifies the adapter. The caller must not hold a
    /// lock.
    ///
    /// A dead letter is stored before the adapter may acknowledge the arrival, so that no message is ever lost. If a
    /// plugin gives an arrival back and the source redelivers, the arrival is abandoned.
    ///
    /// - Parameter meter: The meter of the slice's plugin, or `nil` to find it.
    func settle(
        _ slice: BatchSlice,
        _ position: Int,
        _ outcome: Outcome,
        _ attempts: AttemptCount,
        _ meter: CallMeter? = nil
    ) {
        // Nearly all outcomes are `handled`. They need neither a decision nor a copy.
        if case .handled = outcome {
            counters.count(outcome)
            guard let recorder else { return notify(slice, position, outcome, attempts, meter) }
            return record(slice, position, outcome, nil, attempts, meter, recorder)
        }
        let (arrival, plugin) = (slice.arrivals[position], slice.plugin)
        var given = outcome
        if let reason = outcome.reasonToGiveBack(plugin), isGivenBack(arrival, slice.sink) {
            given = .abandoned(.givenBack(reason))
        } else if case .abandoned(let abandonment) = outcome, isJournaled, !abandonment.isGivenBack {
            given = .abandoned(.kept)
        }
        let outcome = given
        counters.count(outcome)
        if case .abandoned = outcome {
            log.abandoned(arrival, outcome, attempts, plugin: plugin)
            return notify(slice, position, outcome, attempts, meter)
        }
        let letter = DeadLetter(arrival, outcome: outcome, plugin: plugin?.outline, attempts)
        core.deadLetters.add(letter)
        log.deadLetter(arrival, outcome, attempts, plugin: plugin)
        guard let recorder else { return notify(slice, position, outcome, attempts, meter) }
        record(slice, position, outcome, letter, attempts, meter, recorder)
    }

    /// Records an outcome in the store, and then notifies all who wait for it.
    private func record(
        _ slice: BatchSlice,
        _ position: Int,
        _ outcome: Outcome,
        _ letter: DeadLetter?,
        _ attempts: AttemptCount,
        _ meter: CallMeter?,
        _ recorder: StoreRecorder
    ) {
        recorder.record(slice.arrivals[position], outcome, letter: letter, sink: slice.sink) { [self] in
            notify(slice, position, outcome, attempts, meter)
        } abandoned: { [self] in
            notify(slice, position, .abandoned(.drain), attempts, meter)
        }
    }

    /// Returns whether an arrival that a plugin gives back is delivered again.
    private func isGivenBack(_ arrival: Arrival, _ sink: any SettlementSink) -> Bool {
        guard isJournaled || ackDeadlineTicks != nil && arrival.origin.facts.isRedelivered else { return false }
        // A dead letter whose replay fails is a dead letter.
        return (sink as? any StoredArrivals)?.place(of: arrival.record.token).letter == nil
    }

    /// Notifies the metrics and observers, the adapter, and the adapters of the duplicates of an outcome.
    private func notify(
        _ slice: BatchSlice,
        _ position: Int,
        _ outcome: Outcome,
        _ attempts: AttemptCount,
        _ meter: CallMeter?
    ) {
        (meter ?? self.meter(of: slice.plugin)).count(outcome, attempts: attempts.started)
        notifyObservers(slice.arrivals[position], outcome, slice.plugin, attempts)
        guard admission.needsOutcomes(of: slice.plugin) else {
            return notifyAdapter(slice.arrivals[position], outcome, slice.sink)
        }
        let duplicates = admission.settle(slice.arrivals[position], outcome, plugin: slice.plugin, core)
        notifyAdapter(slice.arrivals[position], outcome, slice.sink)
        for duplicate in duplicates { settleDuplicate(duplicate, outcome, slice.plugin) }
    }

    /// Records the outcome of a duplicate, and notifies the adapter.
    func settleDuplicate(_ delivery: CoalescedDelivery, _ outcome: Outcome, _ plugin: PluginEntry?) {
        counters.count(outcome)
        meter(of: plugin).countDuplicate(outcome)
        counters.duplicates.wrappingAdd(1, ordering: .relaxed)
        notifyObservers(delivery.arrival, outcome, plugin, .none, isDuplicate: true)
        let place =
            recorder == nil ? nil : (delivery.sink as? any StoredArrivals)?.place(of: delivery.arrival.record.token)
        guard let recorder, let place, outcome.isDecided else {
            return notifyAdapter(delivery.arrival, outcome, delivery.sink)
        }
        // The letter of the first arrival keeps the message of a row. A letter that is replayed keeps its own.
        var letter: DeadLetter?
        if case .handled = outcome {
        } else if place.letter != nil {
            letter = DeadLetter(delivery.arrival, outcome: outcome, plugin: plugin?.outline, .none)
        }
        let kept = letter
        recorder.record(delivery.arrival, outcome, letter: kept, isDuplicate: true, sink: delivery.sink) { [self] in
            notifyAdapter(delivery.arrival, outcome, delivery.sink)
        } abandoned: { [self] in
            notifyAdapter(delivery.arrival, .abandoned(.drain), delivery.sink)
        }
    }

    /// Returns the meter for arrivals of this source for a plugin.
    func meter(of plugin: PluginEntry?) -> CallMeter { CallMeter(core.middleware.metrics, source, plugin?.action) }

    private func notifyObservers(
        _ arrival: Arrival,
        _ outcome: Outcome,
        _ plugin: PluginEntry?,
        _ attempts: AttemptCount,
        isDuplicate: Bool = false
    ) {
        let onOutcome = core.configuration.onOutcome
        let ofPlugin = plugin?.middleware.hasObservers ?? false
        guard onOutcome != nil || core.middleware.hasObservers || ofPlugin else { return }
        let settled = SettledArrival(
            arrival: arrival,
            plugin: plugin?.action,
            outcome: outcome,
            attempts: attempts.started,
            isDuplicate: isDuplicate,
            isOutcomeOfAttempt: attempts.isOutcomeOfLast,
            outline: plugin?.outline
        )
        onOutcome?(settled)
        for observer in core.middleware.observers { observer.settled(settled) }
        for observer in plugin?.middleware.observers ?? [] { observer.settled(settled) }
    }

    private func notifyAdapter(_ arrival: Arrival, _ outcome: Outcome, _ sink: any SettlementSink) {
        let record = arrival.record
        if record.unreadableItems > 0 {
            counters.unreadableItems.wrappingAdd(Int(record.unreadableItems), ordering: .relaxed)
        }
        if outcome.isDecided { sink.mayAcknowledge(record.token) }
        sink.settle(record.token, outcome)
        window.release(arrivals: 1, bytes: Int(record.originalLength))
        // An empty window always has room. If the window has no room, no task could resume, so there is no need to take
        // the lock.
        if hasWaiters.load(ordering: .sequentiallyConsistent), window.hasRoom { wake() }
    }

    func countLateReturn(_ arrival: Arrival, plugin: PluginEntry) {
        counters.lateReturns.wrappingAdd(1, ordering: .relaxed)
        log.lateReturn(arrival, plugin: plugin)
    }
}

// MARK: - Waits

extension Settler {
    /// Waits until the condition that the ``Wait`` describes is met.
    ///
    /// - Returns: `false` if the wait was stopped.
    @discardableResult
    func wait(for wait: Wait) async -> Bool {
        await withUnsafeContinuation { continuation in
            let answer = waits.withLock { waits -> Bool? in
                guard !waits.stopped.contains(wait) else { return false }
                hasWaiters.store(true, ordering: .sequentiallyConsistent)
                if isOver(wait, isRoomWithheld: waits.isRoomWithheld) { return true }
                waits.waiters.append((wait, continuation))
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Ends all waits of this kind, even if there are unsettled arrivals. Later waits of this kind return immediately.
    func stop(_ wait: Wait) {
        let stopped = waits.withLock { waits in
            waits.stopped.insert(wait)
            return waits.take { $0 == wait }
        }
        for continuation in stopped { continuation.resume(returning: false) }
    }

    /// Resumes the tasks that no longer have to wait.
    func wake() {
        let over = waits.withLock { waits in
            let isRoomWithheld = waits.isRoomWithheld
            let over = waits.take { isOver($0, isRoomWithheld: isRoomWithheld) }
            hasWaiters.store(!waits.waiters.isEmpty, ordering: .sequentiallyConsistent)
            return over
        }
        for continuation in over { continuation.resume(returning: true) }
    }

    /// Makes waits for room last until ``stop(_:)``. The adapter then keeps its connections, but reads nothing more.
    func withholdRoom() {
        waits.withLock { $0.isRoomWithheld = true }
    }

    private func isOver(_ wait: Wait, isRoomWithheld: Bool) -> Bool {
        switch wait {
        case .room where isRoomWithheld: false
        case .room: window.hasRoom && admission.slowingRate?.hasRoom(at: core.now) ?? true
        case .drain, .removal: window.isEmpty
        case .adapterEnd, .adapterReturn: false
        }
    }
}

extension Outcome {
    /// Returns the plugin's reason for giving the arrival back, or `nil` if the plugin does not give it back.
    fileprivate func reasonToGiveBack(_ plugin: PluginEntry?) -> String? {
        switch self {
        case .failed(let failure):
            let exhaustion = failure.reason == .timeout ? plugin?.options.whenUnavailable : failure.whenExhausted
            return exhaustion == .abandon ? failure.description : nil
        case .rejected(let rejection):
            guard rejection.reason == .unavailable, plugin?.options.whenUnavailable == .abandon else { return nil }
            return rejection.description
        case .handled, .abandoned: return nil
        }
    }
}
