import SignalboxCore
import Synchronization

/// Takes one source's arrivals into the source's window and routes them to lanes.
final class SourceIntake: Sendable {
    let settler: Settler
    let lifecycle = SourceLifecycle()
    private let registry: Registry
    private let lanes: LaneTable
    /// Whether arrivals may wait for a plugin. The intakes of all other sources take no lock at a tick.
    private let holdsArrivals: Bool
    /// Reads the source's stored messages again, or `nil` if the adapter cannot.
    let restoring: (any RestoringAdapter)?
    /// The source's journal, until this intake closes, or `nil` if it has none.
    private let journal = Mutex<Journal?>(nil)
    private let state: Mutex<State>

    enum Phase {
        case waiting, open
        /// The intake takes arrivals and abandons them, so that the senders of a source that redelivers no messages get
        /// an answer for as long as the adapter keeps its connections.
        case abandoning
        case closed
    }

    private struct State {
        var phase = Phase.waiting
        /// The arrivals that were taken before the supervisor opened this intake.
        var held: [BatchSlice] = []
        /// The lanes that this source has already used. Finding a lane here takes no additional lock.
        var lanes: [ObjectIdentifier: Lane] = [:]
        /// The plugins that this source has called since the registry's last change. Finding a plugin here takes no lock that
        /// sources share.
        var known = KnownPlugins()
        /// The arrivals that wait for a plugin, or `nil` if the source holds none.
        var hold: ActionHold?

        /// Holds an arrival whose action has no plugin.
        ///
        /// - Returns: The rejection that the arrival receives instead, or `nil` if it is held.
        mutating func hold(_ slice: BatchSlice, _ table: PluginTable) -> Outcome.Rejection? {
            hold == nil ? ArrivalRouter.unknown : hold?.add(slice, table)
        }
    }

    /// - Parameters:
    ///   - hold: The arrivals that may wait for a plugin, or `nil` to reject those without one at once.
    ///   - restoring: Reads the source's stored messages again, or `nil` if the adapter cannot.
    init(
        _ settler: Settler,
        registry: Registry,
        lanes: LaneTable,
        hold: ActionHold? = nil,
        restoring: (any RestoringAdapter)? = nil
    ) {
        holdsArrivals = hold != nil
        self.restoring = restoring
        state = Mutex(State(hold: hold))
        self.settler = settler
        self.registry = registry
        self.lanes = lanes
    }

    var source: SourceName { settler.source }

    /// Sets the journal. Call this before the intake opens.
    func setJournal(_ journal: Journal) { self.journal.withLock { $0 = journal } }

    /// The intake to which the adapter submits.
    var feed: any Intake { journal.withLock { $0 } ?? self }
}

// MARK: - Submission

extension SourceIntake: Intake {
    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        var routed = Routed()
        let taken = state.withLock { state -> Int in
            guard state.phase != .closed else { return 0 }
            let now = settler.core.now
            let slowingRate = settler.admission.slowingRate
            let allowed = slowingRate?.available(at: now) ?? batch.count
            let taken = settler.window.take(batch.prefix(allowed).lazy.map(\.originalLength))
            slowingRate?.take(taken, at: now)
            guard taken > 0 else { return 0 }
            switch state.phase {
            case .open: routed = route(batch, first: taken, to: sink, &state, at: now)
            case .waiting: state.held.append(slice(of: batch, first: taken, to: sink, at: now))
            case .abandoning:
                let slice = slice(of: batch, first: taken, to: sink, at: now)
                routed.verdicts = [Verdict(slice: slice, outcome: .abandoned(.drain))]
            case .closed: break
            }
            return taken
        }
        for verdict in routed.verdicts { verdict.settle() }
        routed.calls?.run()
        return taken
    }

    func room() async throws(SourceClosed) {
        guard await settler.wait(for: .room) else { throw SourceClosed() }
    }

    /// Forgets expired ids, and wakes waiting tasks if the rate limit has room. Called by the timer at each tick.
    func tick(_ now: UInt64) {
        settler.log.tick(now)
        settler.admission.deduplication?.tick(now)
        if settler.admission.slowingRate != nil { settler.wake() }
        if settler.isJournaled { journal.withLock { $0 }?.tick(now) }
        routeHeld(at: now)
    }

    /// Routes the held arrivals that have a plugin now, and rejects those that have waited long enough.
    func routeHeld(at now: UInt64) {
        guard holdsArrivals else { return }
        let verdicts = state.withLock { state in
            state.phase == .open ? routeHeld(&state, registry.snapshot, at: now) : []
        }
        for verdict in verdicts { verdict.settle() }
    }
}

// MARK: - Routing

extension SourceIntake {
    /// Opens the intake as soon as the store has told which ids were handled in earlier runs.
    func open() {
        guard let recorder = settler.recorder, let deduplication = recorder.deduplication else { return openNow() }
        settler.core.startTask { [self] in
            // What an earlier source of this name has recorded may still wait for the disk.
            await withUnsafeContinuation { continuation in
                recorder.store.record(StoredSettlement(source: source)) { continuation.resume() }
            }
            await deduplication.restore(from: recorder.store, of: source, settler.core)
            openNow()
        }
    }

    /// Routes the arrivals taken so far, in order. From then on, arrivals are routed as soon as they are submitted.
    private func openNow() {
        let verdicts = state.withLock { state -> [Verdict] in
            guard state.phase == .waiting else { return [] }
            state.phase = .open
            defer { state.held = [] }
            let table = registry.snapshot
            return state.held.flatMap { route($0.routed(at: settler.core.now), &state, table).verdicts }
        }
        for verdict in verdicts { verdict.settle() }
        journal.withLock { $0 }?.start()
    }

    /// Rejects arrivals before they are routed.
    ///
    /// - Returns: `false` if the intake is closed or has no room.
    func reject(_ arrivals: [Arrival], _ rejection: Outcome.Rejection, to sink: any SettlementSink) -> Bool {
        let rejected = state.withLock { state -> BatchSlice? in
            guard state.phase == .open, settler.window.take(arrivals.map(\.originalLength)) == arrivals.count else {
                return nil
            }
            return slice(of: arrivals, first: arrivals.count, to: sink, at: settler.core.now)
        }
        guard let rejected else { return false }
        Verdict(slice: rejected, outcome: .rejected(rejection)).settle()
        return true
    }

    /// What remains to be done for a batch after the intake's lock has been released.
    private struct Routed {
        /// The verdicts for the arrivals that do not reach a lane.
        var verdicts: [Verdict] = []
        /// The calls that the current thread makes.
        var calls: InlineCalls?
    }

    /// Sends the first arrivals of a submitted batch to their lanes.
    private func route(
        _ batch: [Arrival],
        first count: Int,
        to sink: any SettlementSink,
        _ state: inout State,
        at now: UInt64
    ) -> Routed {
        // Nearly every batch is for one action, so its plugin is known.
        let isUniform = batch[0].isReadable && Arrival.endOfMatchingRun(batch, in: 0..<count) == count
        // Earlier arrivals for the same action come first, so both are routed with the same plugins.
        let table = table(for: batch[0], isUniform: isUniform, &state)
        let due = holdsArrivals ? routeHeld(&state, table, at: now) : []
        // A journal dispatches on the thread of the store, for which all sources wait.
        let callsInline = due.isEmpty && !settler.isJournaled
        let only = isUniform ? plugin(forAll: batch[0], table) : nil
        let slice = slice(of: batch, first: count, to: sink, for: only, at: now)
        var routed =
            only == nil
            ? route(slice, &state, table, callsInline: callsInline)
            : send([slice], [], &state, callsInline: callsInline)
        if !due.isEmpty { routed.verdicts = due + routed.verdicts }
        return routed
    }

    /// Returns the plugins to route a batch with: those that the source knows, if they include the only one that the batch needs
    /// and no arrival waits for another one. Otherwise, returns all.
    private func table(for first: Arrival, isUniform: Bool, _ state: inout State) -> PluginTable {
        let waits = state.hold?.isEmpty == false
        if isUniform, !waits, let known = state.known.table(for: first, of: registry) { return known }
        let all = registry.snapshot
        if isUniform { state.known.remember(first, in: all) }
        return all
    }

    /// Returns the plugin that may be called for all arrivals of a batch like the given one without another check, as it is for
    /// most batches.
    private func plugin(forAll arrival: Arrival, _ table: PluginTable) -> PluginEntry? {
        var router = ArrivalRouter(table: table)
        guard case .plugin(let entry) = router.route(arrival), !settler.admission.isNeeded(for: entry, arrival) else {
            return nil
        }
        return entry
    }

    private func slice(
        of batch: [Arrival],
        first count: Int,
        to sink: any SettlementSink,
        for plugin: PluginEntry? = nil,
        at now: UInt64
    ) -> BatchSlice {
        BatchSlice(arrivals: batch, range: 0..<count, sink: sink, tick: now, settler: settler, plugin: plugin)
    }

    /// Sends each arrival to its lane. A batch's arrivals for the same lane are enqueued together, in order.
    ///
    /// - Parameter callsInline: Whether the current thread may call a plugin, if all arrivals are for the same lane. With
    ///   several lanes, a plugin that hangs would keep the others waiting. With verdicts, the claimed lane would wait for them.
    private func route(
        _ slice: BatchSlice,
        _ state: inout State,
        _ table: PluginTable,
        callsInline: Bool = false
    ) -> Routed {
        var router = ArrivalRouter(table: table)
        var verdicts: [Verdict] = []
        var parts = BatchParts()
        var pass = AdmissionPass(admission: settler.admission, slice: slice)
        var position = slice.range.lowerBound
        while position < slice.range.upperBound {
            var end = position + 1
            switch router.route(slice.arrivals[position]) {
            case .withoutPlugin:
                let one = slice.part(position..<end)
                if let rejection = state.hold(one, table) {
                    verdicts.append(Verdict(slice: one, outcome: .rejected(rejection)))
                }
            case .refused(let rejection, let plugin):
                let one = slice.part(position..<end, for: plugin)
                verdicts.append(Verdict(slice: one, outcome: .rejected(rejection)))
            case .plugin(let entry):
                end = Arrival.endOfMatchingRun(slice.arrivals, in: position..<slice.range.upperBound)
                if settler.admission.isNeeded(for: entry, slice.arrivals[position]) {
                    pass.admit(position..<end, for: entry, to: &parts, &verdicts)
                } else {
                    parts.add(position..<end, for: entry)
                }
            }
            position = end
        }
        let slices = parts.all.map { $0.slice(of: slice) }
        return send(slices, verdicts, &state, callsInline: callsInline)
    }

    /// Sends slices to the lanes of their plugins.
    ///
    /// - Parameter callsInline: See ``route(_:_:_:callsInline:)``.
    private func send(
        _ slices: [BatchSlice],
        _ verdicts: [Verdict],
        _ state: inout State,
        callsInline: Bool
    ) -> Routed {
        var verdicts = verdicts
        for slice in slices {
            guard let plugin = slice.plugin else { continue }
            let lane = lane(for: plugin, &state)
            if callsInline, slices.count == 1, verdicts.isEmpty, let calls = lane.claim(slice) {
                return Routed(calls: calls)
            }
            if let verdict = lane.enqueue(slice) { verdicts.append(verdict) }
        }
        return Routed(verdicts: verdicts)
    }

    private func routeHeld(_ state: inout State, _ table: PluginTable, at now: UInt64) -> [Verdict] {
        guard state.hold?.isEmpty == false, let due = state.hold?.take(table, at: now) else { return [] }
        let unknown = Outcome.rejected(ArrivalRouter.unknown)
        return due.expired.map { Verdict(slice: $0, outcome: unknown) }
            + due.routable.flatMap { route($0, &state, table).verdicts }
    }

    /// Returns the verdict on an arrival whose action has no plugin: how long it would be held, or its rejection.
    func verdict(onArrivalOf length: Int, without table: PluginTable) -> ExplanationVerdict {
        let hold = state.withLock { $0.hold }
        let rejection = hold == nil ? ArrivalRouter.unknown : hold?.rejection(of: length, table)
        if let rejection { return ExplanationVerdict(.rejected(rejection)) }
        return .held(hold?.text ?? "")
    }

    private func lane(for entry: PluginEntry, _ state: inout State) -> Lane {
        if let lane = state.lanes[ObjectIdentifier(entry)] { return lane }
        let lane = lanes.lane(for: entry, core: settler.core)
        state.lanes[ObjectIdentifier(entry)] = lane
        return lane
    }
}

// MARK: - Closing

extension SourceIntake {
    /// Stops accepting arrivals, and abandons those that have not reached a lane.
    ///
    /// - Parameter stopsAdapter: Whether the adapter learns that the intake has closed. If not, the adapter learns it
    ///   from ``stopAdapter()``. Until then, the intake appears full to an adapter that redelivers, and takes and
    ///   abandons the arrivals of any other adapter, whose senders wait for an outcome.
    func close(stopsAdapter: Bool = true) {
        let redelivers = settler.redelivers
        journal.withLock { journal in
            defer { journal = nil }
            return journal
        }?.close()
        let (held, withoutPlugin) = state.withLock { state in
            if state.phase != .closed { state.phase = stopsAdapter || redelivers ? .closed : .abandoning }
            defer { state.held = [] }
            return (state.held, state.hold?.takeAll() ?? [])
        }
        if stopsAdapter {
            stopAdapter()
        } else if redelivers {
            settler.withholdRoom()
        }
        for slice in held { Verdict(slice: slice, outcome: .abandoned(.drain)).settle() }
        // A source that redelivers gets another chance. For any other source, the dead letter keeps the message.
        let outcome = redelivers ? Outcome.abandoned(.drain) : .rejected(ArrivalRouter.unknown)
        for slice in withoutPlugin { Verdict(slice: slice, outcome: outcome).settle() }
    }

    /// Takes no more arrivals, and ends the adapter's waits for room with an error, so that the adapter stops
    /// gracefully.
    func stopAdapter() {
        state.withLock { $0.phase = .closed }
        settler.stop(.room)
    }

    /// Whether the intake refuses or abandons arrivals, which it does if the supervisor is draining or has stopped, or if the
    /// source is being removed.
    var isClosed: Bool { state.withLock { $0.phase == .closed || $0.phase == .abandoning } }

    /// Forgets the lanes of removed plugins.
    func forgetLanes(of entries: [PluginEntry]) {
        state.withLock { state in
            state.known = KnownPlugins()
            for entry in entries where !state.lanes.isEmpty { state.lanes[ObjectIdentifier(entry)] = nil }
        }
    }

    /// Forgets all lanes.
    func forgetLanes() {
        state.withLock { state in
            state.known = KnownPlugins()
            state.lanes = [:]
        }
    }

    /// Forgets this removed source in all lanes that it has used.
    func leaveLanes() {
        let lanes = state.withLock { state in
            state.known = KnownPlugins()
            defer { state.lanes = [:] }
            return state.lanes
        }
        for lane in lanes.values { lane.forget(settler) }
    }
}
