import Synchronization

/// The lanes of a supervisor: one per registered plugin that was ever called for.
final class LaneTable: Sendable {
    private struct State {
        var lanes: [ObjectIdentifier: Lane] = [:]
        /// Lanes of removed plugins that still have work.
        var retired: [Lane] = []
    }

    private let state = Mutex(State())

    func lane(for entry: PluginEntry, core: SupervisorCore) -> Lane {
        state.withLock { state in
            if let lane = state.lanes[ObjectIdentifier(entry)] { return lane }
            let lane = Lane(entry: entry, core: core)
            state.lanes[ObjectIdentifier(entry)] = lane
            return lane
        }
    }

    /// The lane of a plugin, if it has one; it makes none.
    func known(for entry: PluginEntry) -> Lane? {
        state.withLock { $0.lanes[ObjectIdentifier(entry)] }
    }

    var all: [Lane] { state.withLock { $0.lanes.values + $0.retired } }

    /// Closes the lane of a plugin; what waits there is still handled.
    func retire(_ entry: PluginEntry) {
        let lane = state.withLock { state in
            let lane = state.lanes.removeValue(forKey: ObjectIdentifier(entry))
            if let lane { state.retired.append(lane) }
            return lane
        }
        lane?.close()
    }

    /// The lane's tasks have ended: nothing comes to it any more.
    func letGo(of lane: Lane) {
        state.withLock { state in state.retired.removeAll { $0 === lane } }
    }
}
