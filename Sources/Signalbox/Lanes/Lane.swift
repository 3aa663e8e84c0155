import SignalboxCore
import Synchronization

/// Calls one plugin for all sources, with the concurrency and the order that the plugin's options set.
///
/// Each worker's task starts when it is first needed and lives as long as the lane. The timer never waits for a worker.
/// When a call is overdue, the timer settles it, and the worker and its ordering group are stalled until the plugin
/// returns.
final class Lane: Sendable {
    let entry: PluginEntry
    let core: SupervisorCore
    let lanes: LaneTable
    let timeoutTicks: UInt64
    let state: Mutex<LaneState>

    /// - Parameter isWaitingForPredecessor: Whether calls have to wait for ``open()``.
    init(entry: PluginEntry, core: SupervisorCore, lanes: LaneTable, isWaitingForPredecessor: Bool) {
        self.entry = entry
        self.core = core
        self.lanes = lanes
        timeoutTicks = TickCount.ticks(in: entry.timeout, of: core.configuration.tick)
        state = Mutex(
            LaneState(
                order: entry.options.order,
                maxConcurrent: entry.options.maxConcurrent,
                callsWholeSlices: entry.call.takesWholeSlices,
                isWaitingForPredecessor: isWaitingForPredecessor,
                mayRunInline: entry.options.runsInline,
                report: CountReport(ticksBetweenLines: core.ticksBetweenStallLines)
            )
        )
    }

    /// Whether no call can start, because every worker is occupied by a call that has been settled but has not
    /// returned.
    var isStalled: Bool { state.withLock { $0.isStalled } }

    /// The sources whose calls have been settled but have not returned.
    var stalledSources: [SourceName] {
        state.withLock { $0.workers.compactMap { $0.isStalled ? $0.current?.settler.source : nil } }
    }

    /// Enqueues a slice. If the slice's calls cannot start, this method returns a verdict for the slice instead.
    func enqueue(_ slice: BatchSlice) -> Verdict? {
        let task = slice.sink is OutcomeCollector ? LaneWorker.currentTask : nil
        if let task, lanes.isWaitingForPredecessor(entry, withCallIn: task) {
            return Verdict(slice: slice, outcome: reentrant)
        }
        let (verdict, wakeups) = state.withLock { state -> (Verdict?, LaneWakeups) in
            if let task, state.waitsForItself(slice, in: task) {
                return (Verdict(slice: slice, outcome: reentrant), LaneWakeups())
            }
            guard state.enqueue(slice) else { return (Verdict(slice: slice, outcome: unavailable), LaneWakeups()) }
            return (nil, state.dispatch())
        }
        perform(wakeups)
        return verdict
    }

    /// Closes the lane. The lane's tasks end once they have handled everything that is queued.
    func close() {
        change { state in
            state.isClosed = true
            return state.endParked()
        }
    }

    private func change(_ change: (inout LaneState) -> LaneWakeups) {
        let (wakeups, hasEnded) = state.withLock { (change(&$0), $0.hasEnded) }
        perform(wakeups)
        activateReplacement()
        if hasEnded { lanes.release(self) }
    }

    func perform(_ wakeups: LaneWakeups) {
        for worker in wakeups.started { start(worker) }
        wakeups.resume()
    }

    var unavailable: Outcome {
        .rejected(
            Outcome.Rejection(.unavailable, detail: "an earlier call of plugin \(entry.action) has not returned")
        )
    }

    private var reentrant: Outcome {
        let detail = "a call of plugin \(entry.action) waits for an action that cannot start until the call returns"
        return .rejected(Outcome.Rejection(.reentrant, detail: detail))
    }
}

extension LaneState {
    /// Returns whether the task is inside a call of this lane, so that the slice could not start until that call
    /// returns.
    func waitsForItself(_ slice: BatchSlice, in task: Int) -> Bool {
        guard let caller = workers.first(where: { $0.hasCall(in: task) }) else { return false }
        if maxConcurrent == 1 { return true }
        return order == .source && caller.current?.settler === slice.settler
    }
}

extension Lane {
    /// Returns whether an action from the source could not be called right now. With ordering by key, the key is not
    /// known until the action has been decoded, so the answer is `true` only if the whole lane is stalled.
    func isStalled(for settler: Settler?) -> Bool {
        state.withLock { state in
            if state.isStalled { return true }
            guard state.order == .source, let settler else { return false }
            return state.workers.contains { $0.isStalled && $0.current?.settler === settler }
        }
    }
}

extension Lane {
    /// Allows calls to start. The lane table calls this method when everything for the replaced plugin has been
    /// settled.
    func open() {
        change { state in
            state.isWaitingForPredecessor = false
            return state.dispatch()
        }
    }

    /// Lets the plugin's replacement start if everything in this lane has been settled. Calls that have been settled
    /// but have not returned do not delay the replacement.
    func activateReplacement() {
        if state.withLock({ $0.takeActivation() }) { lanes.activateReplacement(of: entry) }
    }

    /// Returns whether the task is inside a call of this lane.
    func hasCall(in task: Int) -> Bool {
        state.withLock { state in state.workers.contains { $0.hasCall(in: task) } }
    }
}

extension Lane {
    /// Abandons the arrivals of removed sources whose calls have not started. A call in progress continues, because
    /// expiring it would stall the lane for the other sources.
    ///
    /// - Parameter settlers: The identities of the sources' settlers.
    func abandonWaiting(of settlers: Set<ObjectIdentifier>) {
        let (slices, wakeups) = state.withLock { state -> ([BatchSlice], LaneWakeups) in
            var slices = state.groups.takeAll { settlers.contains(ObjectIdentifier($0.settler)) }
            slices += state.takeRetries { settlers.contains(ObjectIdentifier($0.settler)) }
            for position in state.workers.indices {
                let callState = state.workers[position].worker.callState
                guard let current = state.workers[position].current,
                    settlers.contains(ObjectIdentifier(current.settler)), callState.phase == .running,
                    state.workers[position].worker.mark(callState, .interrupted),
                    let rest = state.workers[position].takeRest(behindCall: callState.number)
                else { continue }
                slices.append(rest)
            }
            return (slices, state.dispatch())
        }
        perform(wakeups)
        for slice in slices { slice.settle(.abandoned(.drain)) }
    }

    /// Forgets a removed source. If one of the source's calls is in progress, the source is forgotten after the call
    /// returns.
    func forget(_ settler: Settler) {
        state.withLock { $0.forget(settler) }
    }
}
