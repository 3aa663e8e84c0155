import Synchronization

/// The lanes of a supervisor: one per registered plugin that was ever called for.
final class LaneTable: Sendable {
    private struct State {
        var lanes: [ObjectIdentifier: Lane] = [:]
        /// In the order in which they were made; those of removed plugins too, as long as they have work.
        var all: [Lane] = []
    }

    private let state = Mutex(State())

    func lane(for entry: PluginEntry, core: SupervisorCore) -> Lane {
        state.withLock { state in
            if let lane = state.lanes[ObjectIdentifier(entry)] { return lane }
            let lane = Lane(entry: entry, core: core)
            state.lanes[ObjectIdentifier(entry)] = lane
            state.all.append(lane)
            return lane
        }
    }

    /// The lane of a plugin, if it has one; it makes none.
    func known(for entry: PluginEntry) -> Lane? {
        state.withLock { $0.lanes[ObjectIdentifier(entry)] }
    }

    var all: [Lane] { state.withLock { $0.all } }

    /// Closes the lane of a plugin; what waits there is still handled.
    func retire(_ entry: PluginEntry) {
        let lane = state.withLock { $0.lanes.removeValue(forKey: ObjectIdentifier(entry)) }
        lane?.close()
    }

    /// The lane's tasks have ended: nothing comes to it any more.
    func letGo(of lane: Lane) {
        state.withLock { state in state.all.removeAll { $0 === lane } }
    }
}
