import SignalboxCore
import Synchronization

/// The intake of one source. It owns the source's window, routes its arrivals to lanes, and alone settles them.
final class SourceIntake: Sendable {
    let source: SourceName
    let core: SupervisorCore
    let counters: OutcomeCounters
    let log: SourceLog
    let window: Window
    let life = SourceLife()
    let admission: Admission
    /// The ack deadline of a waiting arrival, in ticks, or `nil` if the source does not redeliver.
    let holdTicks: UInt64?
    /// Whether a task waits for the window to change. Checked at each release, so that releases need no lock.
    private let hasWaiters = Atomic<Bool>(false)
    private let state = Mutex(State())

    enum Phase { case waiting, open, closed }

    private struct State {
        var phase = Phase.waiting
        /// The arrivals taken before the supervisor opened.
        var held: [LaneRun] = []
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
        holdTicks =
            features.contains(.redelivers)
            ? TickCount.ticks(in: core.configuration.holdLimit, of: core.configuration.tick) : nil
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
            let run = LaneRun(batch, in: 0..<taken, sink: sink, tick: core.now, intake: self)
            guard state.phase == .open else {
                if taken > 0 { state.held.append(run) }
                return (taken, [])
            }
            return (taken, route(run, &state))
        }
        settle(verdicts)
        return taken
    }

    func room() async throws(SourceClosed) {
        let isOpen = await withUnsafeContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                guard state.phase != .closed else { return false }
                hasWaiters.store(true, ordering: .sequentiallyConsistent)
                if hasRoom { return true }
                state.roomWaiters.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
        guard isOpen else { throw SourceClosed() }
    }

    /// Expires remembered ids and wakes tasks for which the rate limit has room. The timer calls it at each tick.
    func tick(_ now: UInt64) {
        admission.repeats?.tick(now)
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
                route(LaneRun(held.arrivals, in: held.range, sink: held.sink, tick: core.now, intake: self), &state)
            }
        }
        settle(verdicts)
    }
}

// MARK: - Routing

extension SourceIntake {
    /// Sends each arrival to its lane. The arrivals of a batch for one lane are enqueued together, in order. Returns
    /// those that reach no lane, to be settled after the lock is released.
    private func route(_ run: LaneRun, _ state: inout State) -> [IntakeVerdict] {
        var router = ArrivalRouter(table: core.registry.snapshot)
        var verdicts: [IntakeVerdict] = []
        var parts = BatchParts()
        var pass = AdmissionPass(admission, run)
        var position = run.range.lowerBound
        while position < run.range.upperBound {
            var end = position + 1
            switch router.route(run.arrivals[position]) {
            case .refused(let rejection, let plugin):
                let one = run.part(position..<end)
                verdicts.append(IntakeVerdict(run: one, outcome: .rejected(rejection), plugin: plugin))
            case .plugin(let entry):
                end = Arrival.endOfAlike(run.arrivals, in: position..<run.range.upperBound)
                if admission.isNeeded(for: entry, run.arrivals[position]) {
                    pass.admit(position..<end, for: entry, to: &parts, &verdicts)
                } else {
                    parts.add(position..<end, for: entry)
                }
            }
            position = end
        }
        for part in parts.all {
            let lane = lane(for: part.entry, &state)
            guard let verdict = lane.enqueue(part.run(of: run)) else { continue }
            verdicts.append(IntakeVerdict(run: verdict.run, outcome: verdict.outcome, plugin: part.entry))
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
            guard verdict.isRepeat else {
                verdict.run.settle(verdict.outcome, plugin: verdict.plugin)
                continue
            }
            for position in verdict.run.range {
                let arrival = verdict.run.arrivals[position]
                settleRepeat(arrival, verdict.outcome, plugin: verdict.plugin, sink: verdict.run.sink)
            }
        }
    }
}

// MARK: - Settlement

extension SourceIntake {
    /// Records the outcome of an arrival and its repeats, and notifies the adapter. Any thread, without a lock held.
    ///
    /// A dead letter is stored before the adapter may acknowledge, so that the message is never lost. An arrival that
    /// its plugin gives back is abandoned if the source redelivers it.
    func settle(
        _ arrival: Arrival,
        _ outcome: Outcome,
        plugin: PluginEntry?,
        sink: any SettlementSink,
        _ attempts: AttemptsMade
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
        tellObservers(arrival, outcome, attempts, plugin: plugin, isRepeat: false)
        guard admission.hears(of: plugin) else { return tellAdapter(arrival, outcome, sink) }
        let followers = admission.settle(arrival, outcome, plugin: plugin, core)
        tellAdapter(arrival, outcome, sink)
        for follower in followers {
            settleRepeat(follower.arrival, outcome, plugin: plugin, sink: follower.sink)
        }
    }

    private func isRedelivered(_ arrival: Arrival) -> Bool { holdTicks != nil && arrival.origin.facts.isRedelivered }

    /// Records the outcome of an arrival that repeats another, and notifies the adapter.
    private func settleRepeat(
        _ arrival: Arrival,
        _ outcome: Outcome,
        plugin: PluginEntry?,
        sink: any SettlementSink
    ) {
        counters.count(outcome)
        counters.repeats.wrappingAdd(1, ordering: .relaxed)
        tellObservers(arrival, outcome, .none, plugin: plugin, isRepeat: true)
        tellAdapter(arrival, outcome, sink)
    }

    private func tellObservers(
        _ arrival: Arrival,
        _ outcome: Outcome,
        _ attempts: AttemptsMade,
        plugin: PluginEntry?,
        isRepeat: Bool
    ) {
        let onOutcome = core.configuration.onOutcome
        let ofPlugin = plugin?.middleware.hasObservers ?? false
        guard onOutcome != nil || core.middleware.hasObservers || ofPlugin else { return }
        let settled = SettledArrival(
            arrival: arrival,
            plugin: plugin?.action,
            outcome: outcome,
            attempts: attempts.begun,
            isRepeat: isRepeat,
            isOutcomeOfAttempt: attempts.isOutcomeOfLast,
            outline: plugin?.outline
        )
        onOutcome?(settled)
        for observer in core.middleware.observers { observer.settled(settled) }
        for observer in plugin?.middleware.observers ?? [] { observer.settled(settled) }
    }

    private func tellAdapter(_ arrival: Arrival, _ outcome: Outcome, _ sink: any SettlementSink) {
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
        let (held, waiters) = state.withLock { state -> ([LaneRun], [UnsafeContinuation<Bool, Never>]) in
            state.phase = .closed
            defer {
                state.held = []
                state.roomWaiters = []
            }
            return (state.held, state.roomWaiters)
        }
        for waiter in waiters { waiter.resume(returning: false) }
        settle(held.map { IntakeVerdict(run: $0, outcome: .abandoned(.drain), plugin: nil) })
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
