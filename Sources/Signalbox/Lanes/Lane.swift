import SignalboxCore
import Synchronization

/// The calls of one plugin, of all sources together: so many at once, and each in the order that its options promise.
///
/// Its places are tasks that live as long as the lane. The timer never waits for them: a call that is overdue is settled
/// without it, and its place and strand are stalled until the plugin returns.
final class Lane: Sendable {
    let entry: PluginEntry
    let core: SupervisorCore
    let timeoutTicks: UInt64
    let state: Mutex<LaneState>

    /// - Parameter isHeldBack: calls begin only after ``open()``.
    init(entry: PluginEntry, core: SupervisorCore, isHeldBack: Bool = false) {
        self.entry = entry
        self.core = core
        timeoutTicks = TickCount.ticks(in: entry.timeout, of: core.configuration.tick)
        state = Mutex(
            LaneState(
                order: entry.options.order,
                maxConcurrent: entry.options.maxConcurrent,
                callsWholeRuns: entry.call.takesWholeRuns,
                isHeldBack: isHeldBack
            )
        )
    }

    /// Whether no call can begin, as those that were settled without waiting for them have not returned yet.
    var isStalled: Bool { state.withLock { $0.isStalled } }

    /// The sources of calls that were settled without waiting for them and have not returned yet.
    var stalledSources: [SourceName] {
        state.withLock { $0.places.compactMap { $0.isStalled ? $0.current?.intake.source : nil } }
    }

    /// Adds a run. Gives it back when what comes for it cannot be called.
    func enqueue(_ run: LaneRun) -> LaneVerdict? {
        let task = run.sink is OutcomeCollector ? LanePlace.currentTask : nil
        if let task, core.lanes.isHeldBack(entry, byCallIn: task) { return LaneVerdict(run: run, outcome: reentrant) }
        let (verdict, wakeups) = state.withLock { state -> (LaneVerdict?, LaneWakeups) in
            if let task, state.waitsForItself(run, in: task) {
                return (LaneVerdict(run: run, outcome: reentrant), LaneWakeups())
            }
            guard state.enqueue(run) else { return (LaneVerdict(run: run, outcome: unavailable), LaneWakeups()) }
            return (nil, state.dispatch())
        }
        carryOut(wakeups)
        return verdict
    }

    /// Ends the lane's tasks once nothing is left.
    func close() {
        let (wakeups, hasEnded) = state.withLock { state in
            state.isClosed = true
            return (state.endParked(), state.hasEnded)
        }
        carryOut(wakeups)
        handOver()
        if hasEnded { core.lanes.letGo(of: self) }
    }

    func carryOut(_ wakeups: LaneWakeups) {
        for place in wakeups.started { start(place) }
        wakeups.resume()
    }

    var unavailable: Outcome {
        .rejected(
            Outcome.Rejection(.unavailable, detail: "an earlier call of plugin \(entry.action) has not returned")
        )
    }

    private var reentrant: Outcome {
        let detail = "a call of plugin \(entry.action) waits for an action that could begin only after it has returned"
        return .rejected(Outcome.Rejection(.reentrant, detail: detail))
    }
}

extension LaneState {
    /// Whether the task is in a call of this lane that has to return before anything of the run can begin.
    func waitsForItself(_ run: LaneRun, in task: Int) -> Bool {
        guard let caller = places.first(where: { $0.current != nil && $0.place.isTask(task) }) else { return false }
        if maxConcurrent == 1 { return true }
        return order == .source && caller.current?.intake === run.intake
    }
}
