import SignalboxCore
import Synchronization

/// The intake of one source. It owns the source's window, routes its arrivals to lanes, and alone settles them.
final class SourceIntake: Sendable {
    let source: SourceName
    let core: SupervisorCore
    let counters: OutcomeCounters
    let log: SourceLog
    let window: Window
    let lifecycle = SourceLifecycle()
    let admission: Admission
    /// The ack deadline of a waiting arrival, in ticks, or `nil` if the source does not redeliver.
    let ackDeadlineTicks: UInt64?
    /// Whether a task waits for the window to change. Checked at each release, so that releases need no lock.
    private let hasWaiters = Atomic<Bool>(false)
    private let state = Mutex(State())

    enum Phase { case waiting, open, closed }

    private struct State {
        var phase = Phase.waiting
        /// The arrivals taken before the supervisor opened.
        var held: [BatchSlice] = []
        /// The lanes this source has used, so that they are found without another lock.
        var lanes: [ObjectIdentifier: Lane] = [:]
        var roomWaiters: [UnsafeContinuation<Bool, Never>] = []
        var emptyWaiters: [EmptyWaiter] = []
        /// The kinds of wait that have been stopped and return immediately.
        var stoppedWaits: Set<EmptyWait> = []
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
        ackDeadlineTicks =
            features.contains(.redelivers)
            ? TickCount.ticks(in: core.configuration.ackDeadline, of: core.configuration.tick) : nil
        log = SourceLog(source: source, core: core)
    }
}

// MARK: - Submission

extension SourceIntake: Intake {
    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let (taken, verdicts) = state.withLock { state -> (Int, [IntakeVerdict]) in
            guard state.phase != .closed else { return (0, []) }
            let allowed = admission.allowance(of: batch.count, at: core.now)
            let taken = window.take(batch.prefix(allowed).lazy.map(\.originalLength))
            admission.took(taken, at: core.now)
            let slice = BatchSlice(batch, in: 0..<taken, sink: sink, tick: core.now, intake: self)
            guard state.phase == .open else {
                if taken > 0 { state.held.append(slice) }
                return (taken, [])
            }
            return (taken, route(slice, &state))
        }
        settle(verdicts)
        return taken
    }

    func room() async throws(SourceClosed) {
        let isOpen = await withUnsafeContinuation { continuation in
            let result = state.withLock { state -> Bool? in
                guard state.phase != .closed else { return false }
                hasWaiters.store(true, ordering: .sequentiallyConsistent)
                if hasRoom { return true }
                state.roomWaiters.append(continuation)
                return nil
            }
            if let result { continuation.resume(returning: result) }
        }
        guard isOpen else { throw SourceClosed() }
    }

    /// Expires remembered ids and wakes tasks for which the rate limit has room. The timer calls it at each tick.
    func tick(_ now: UInt64) {
        admission.deduplication?.tick(now)
        if let rate = admission.rate, rate.slows { wake() }
    }

    private var hasRoom: Bool { window.hasRoom && admission.hasRoom(at: core.now) }

    /// Routes the arrivals taken so far, in order. Later arrivals are routed as they are submitted.
    func open() {
        let verdicts = state.withLock { state -> [IntakeVerdict] in
            guard state.phase == .waiting else { return [] }
            state.phase = .open
            defer { state.held = [] }
            return state.held.flatMap { held in
                route(BatchSlice(held.arrivals, in: held.range, sink: held.sink, tick: core.now, intake: self), &state)
            }
        }
        settle(verdicts)
    }
}

// MARK: - Routing

extension SourceIntake {
    /// Sends each arrival to its lane. The arrivals of a batch for one lane are enqueued together, in order. Returns
    /// those that reach no lane, to be settled after the lock is released.
    private func route(_ slice: BatchSlice, _ state: inout State) -> [IntakeVerdict] {
        var router = ArrivalRouter(table: core.registry.snapshot)
        var verdicts: [IntakeVerdict] = []
        var parts = BatchParts()
        var pass = AdmissionPass(admission, slice)
        var position = slice.range.lowerBound
        while position < slice.range.upperBound {
            var end = position + 1
            switch router.route(slice.arrivals[position]) {
            case .refused(let rejection, let plugin):
                let one = slice.part(position..<end)
                verdicts.append(IntakeVerdict(slice: one, outcome: .rejected(rejection), plugin: plugin))
            case .plugin(let entry):
                end = Arrival.endOfMatchingRun(slice.arrivals, in: position..<slice.range.upperBound)
                if admission.isNeeded(for: entry, slice.arrivals[position]) {
                    pass.admit(position..<end, for: entry, to: &parts, &verdicts)
                } else {
                    parts.add(position..<end, for: entry)
                }
            }
            position = end
        }
        for part in parts.all {
            let lane = lane(for: part.entry, &state)
            guard let verdict = lane.enqueue(part.slice(of: slice)) else { continue }
            verdicts.append(IntakeVerdict(slice: verdict.slice, outcome: verdict.outcome, plugin: part.entry))
        }
        return verdicts
    }

    private func lane(for entry: PluginEntry, _ state: inout State) -> Lane {
        if let lane = state.lanes[ObjectIdentifier(entry)] { return lane }
        let lane = core.lanes.lane(for: entry, core: core)
        state.lanes[ObjectIdentifier(entry)] = lane
        return lane
    }

    private func settle(_ verdicts: [IntakeVerdict]) {
        for verdict in verdicts {
            guard verdict.isDuplicate else {
                verdict.slice.settle(verdict.outcome, plugin: verdict.plugin)
                continue
            }
            for position in verdict.slice.range {
                let arrival = verdict.slice.arrivals[position]
                settleDuplicate(arrival, verdict.outcome, plugin: verdict.plugin, sink: verdict.slice.sink)
            }
        }
    }
}

// MARK: - Settlement

extension SourceIntake {
    /// Records the outcome of an arrival and its duplicates, and notifies the adapter. Any thread, without a lock held.
    ///
    /// A dead letter is stored before the adapter may acknowledge, so that the message is never lost. An arrival that
    /// its plugin gives back is abandoned if the source redelivers it.
    func settle(
        _ arrival: Arrival,
        _ outcome: Outcome,
        plugin: PluginEntry?,
        sink: any SettlementSink,
        _ attempts: AttemptCount
    ) {
        var outcome = outcome
        if let reason = outcome.reasonToGiveBack(plugin), isRedelivered(arrival) {
            outcome = .abandoned(.givenBack(reason))
        }
        counters.count(outcome)
        switch outcome {
        case .handled: break
        case .abandoned: log.abandoned(arrival, outcome, attempts, plugin: plugin)
        case .rejected, .failed:
            core.deadLetters.add(DeadLetter(arrival, outcome: outcome, plugin: plugin?.outline, attempts))
            log.deadLetter(arrival, outcome, attempts, plugin: plugin)
        }
        notifyObservers(arrival, outcome, attempts, plugin: plugin, isDuplicate: false)
        guard admission.needsOutcomes(of: plugin) else { return notifyAdapter(arrival, outcome, sink) }
        let duplicates = admission.settle(arrival, outcome, plugin: plugin, core)
        notifyAdapter(arrival, outcome, sink)
        for duplicate in duplicates {
            settleDuplicate(duplicate.arrival, outcome, plugin: plugin, sink: duplicate.sink)
        }
    }

    private func isRedelivered(_ arrival: Arrival) -> Bool {
        ackDeadlineTicks != nil && arrival.origin.facts.isRedelivered
    }

    /// Records the outcome of a duplicate, and notifies the adapter.
    private func settleDuplicate(
        _ arrival: Arrival,
        _ outcome: Outcome,
        plugin: PluginEntry?,
        sink: any SettlementSink
    ) {
        counters.count(outcome)
        counters.duplicates.wrappingAdd(1, ordering: .relaxed)
        notifyObservers(arrival, outcome, .none, plugin: plugin, isDuplicate: true)
        notifyAdapter(arrival, outcome, sink)
    }

    private func notifyObservers(
        _ arrival: Arrival,
        _ outcome: Outcome,
        _ attempts: AttemptCount,
        plugin: PluginEntry?,
        isDuplicate: Bool
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
        let token = arrival.token
        if outcome.isDecided { sink.mayAcknowledge(token) }
        sink.settle(token, outcome)
        window.release(arrivals: 1, bytes: arrival.originalLength)
        // An empty window has room too. Without room no waiter could resume, so the lock is skipped.
        if hasWaiters.load(ordering: .sequentiallyConsistent), window.hasRoom { wake() }
    }

    func countLateReturn(_ arrival: Arrival, plugin: PluginEntry) {
        counters.lateReturns.wrappingAdd(1, ordering: .relaxed)
        log.lateReturn(arrival, plugin: plugin)
    }

    func logStall(_ plugin: PluginEntry, unavailable count: Int) {
        log.stalled(plugin, unavailable: count)
    }

    private func wake() {
        let (room, empty) = state.withLock {
            state -> ([UnsafeContinuation<Bool, Never>], [EmptyWaiter]) in
            var room: [UnsafeContinuation<Bool, Never>] = []
            var empty: [EmptyWaiter] = []
            if hasRoom { swap(&room, &state.roomWaiters) }
            if window.isEmpty { swap(&empty, &state.emptyWaiters) }
            let waits = !state.roomWaiters.isEmpty || !state.emptyWaiters.isEmpty
            hasWaiters.store(waits, ordering: .sequentiallyConsistent)
            return (room, empty)
        }
        for waiter in room { waiter.resume(returning: true) }
        for waiter in empty { waiter.continuation.resume() }
    }
}

// MARK: - Closing

extension SourceIntake {
    /// Stops accepting arrivals and abandons those that have not reached a lane.
    func close() {
        let (held, waiters) = state.withLock { state -> ([BatchSlice], [UnsafeContinuation<Bool, Never>]) in
            state.phase = .closed
            defer {
                state.held = []
                state.roomWaiters = []
            }
            return (state.held, state.roomWaiters)
        }
        for waiter in waiters { waiter.resume(returning: false) }
        settle(held.map { IntakeVerdict(slice: $0, outcome: .abandoned(.drain), plugin: nil) })
    }

    /// Whether arrivals are refused: the supervisor is draining or has stopped, or the source is being removed.
    var isClosed: Bool { state.withLock { $0.phase == .closed } }

    /// Waits until every arrival taken is settled, or until ``stop(_:)`` is called for the same wait.
    func untilEmpty(_ wait: EmptyWait) async {
        await withUnsafeContinuation { continuation in
            let isEmpty = state.withLock { state -> Bool in
                hasWaiters.store(true, ordering: .sequentiallyConsistent)
                if window.isEmpty || state.stoppedWaits.contains(wait) { return true }
                state.emptyWaiters.append(EmptyWaiter(wait: wait, continuation: continuation))
                return false
            }
            if isEmpty { continuation.resume() }
        }
    }

    /// Makes ``untilEmpty(_:)`` return even though arrivals are unsettled.
    func stop(_ wait: EmptyWait) {
        let waiters = state.withLock { state in
            state.stoppedWaits.insert(wait)
            let waiters = state.emptyWaiters.filter { $0.wait == wait }
            state.emptyWaiters.removeAll { $0.wait == wait }
            return waiters
        }
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// Forgets the lane of a removed plugin.
    func forgetLane(of entry: PluginEntry) {
        state.withLock { state in state.lanes[ObjectIdentifier(entry)] = nil }
    }

    /// Forgets all lanes.
    func forgetLanes() {
        state.withLock { $0.lanes = [:] }
    }
}

extension Outcome {
    /// Returns the reason the plugin gives the arrival back, or `nil` if it does not.
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
