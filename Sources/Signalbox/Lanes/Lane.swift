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

extension Lane {
    /// Whether what comes from a source could not be called now. Of a lane with keys it is known only where no key could be:
    /// whether the calls of one key are held up is seen when its action comes.
    func isStalled(for intake: SourceIntake?) -> Bool {
        state.withLock { state in
            if state.isStalled { return true }
            guard state.order == .source, let intake else { return false }
            return state.places.contains { $0.isStalled && $0.current?.intake === intake }
        }
    }
}

extension Lane {
    /// Lets calls begin: nothing is left of the plugin whose place this one took.
    func open() {
        let (wakeups, hasEnded) = state.withLock { state in
            state.isHeldBack = false
            return (state.dispatch(), state.hasEnded)
        }
        carryOut(wakeups)
        handOver()
        if hasEnded { core.lanes.letGo(of: self) }
    }

    /// Lets the plugin begin that took the place of this one, once nothing of this one is left unsettled. A call that was
    /// settled without it and has not returned is not waited for.
    func handOver() {
        if state.withLock({ $0.takeHandover() }) { core.lanes.handOver(entry) }
    }

    /// Whether the task is in a call of this lane.
    func hasCall(in task: Int) -> Bool {
        state.withLock { state in state.places.contains { $0.current != nil && $0.place.isTask(task) } }
    }
}

extension Lane {
    /// Abandons what a source that is removed has left here and has not begun. A call in progress goes on: to take it away
    /// would stall the lane for the sources that stay.
    func letGo(of intake: SourceIntake) {
        let (runs, wakeups) = state.withLock { state -> ([LaneRun], LaneWakeups) in
            var runs = state.takeWaiting { $0.intake === intake } + state.takeSleepers { $0.intake === intake }
            for position in state.places.indices where state.places[position].current?.intake === intake {
                let word = state.places[position].place.word
                guard word.phase == .running, state.places[position].place.mark(word, .interrupted),
                    let rest = state.places[position].takeRest(behindCall: word.number)
                else { continue }
                runs.append(rest)
            }
            return (runs, state.dispatch())
        }
        carryOut(wakeups)
        settle(runs.map { LaneVerdict(run: $0, outcome: .abandoned(.drain)) })
    }

    /// Forgets a source that was removed, at once or when its call returns.
    func forget(_ intake: SourceIntake) {
        state.withLock { $0.forget(intake) }
    }
}
