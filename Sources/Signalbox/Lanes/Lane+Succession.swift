import Synchronization

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
