import Synchronization

/// The lanes of a supervisor: one per registered plugin that was ever called for.
final class LaneTable: Sendable {
    private struct State {
        var lanes: [ObjectIdentifier: Lane] = [:]
        /// In the order in which they were made; those of removed plugins too, as long as they have work.
        var all: [Lane] = []
        var successions = LaneSuccessions()

        func known(for entry: PluginEntry) -> Lane? {
            lanes[ObjectIdentifier(entry)] ?? all.first { $0.entry === entry }
        }
    }

    private let state = Mutex(State())

    func lane(for entry: PluginEntry, core: SupervisorCore) -> Lane {
        state.withLock { state in
            if let lane = state.lanes[ObjectIdentifier(entry)] { return lane }
            let lane = Lane(entry: entry, core: core, isHeldBack: state.successions.predecessor(of: entry) != nil)
            state.lanes[ObjectIdentifier(entry)] = lane
            state.all.append(lane)
            return lane
        }
    }

    /// The second plugin is about to take the place of the first: where both promise an order, its calls begin when nothing
    /// of the first is left unsettled. ``retire(_:)`` of the first must follow.
    func follow(_ old: PluginEntry, by new: PluginEntry) {
        guard old.options.order != .none, new.options.order != .none else { return }
        state.withLock { $0.successions.add(old, before: new) }
    }

    /// Whether what is sent to the plugin in a call of the task could begin only after that call has returned, as the call
    /// is one of a plugin whose place it took.
    func isHeldBack(_ entry: PluginEntry, byCallIn task: Int) -> Bool {
        var entry = entry
        while let (before, lane) = state.withLock({ state in
            state.successions.predecessor(of: entry).map { ($0, state.known(for: $0)) }
        }) {
            if lane?.hasCall(in: task) == true { return true }
            entry = before
        }
        return false
    }

    /// The lane of a plugin, if it has one; it makes none.
    func known(for entry: PluginEntry) -> Lane? {
        state.withLock { $0.lanes[ObjectIdentifier(entry)] }
    }

    var all: [Lane] { state.withLock { $0.all } }

    /// Closes the lane of a plugin; what waits there is still handled.
    func retire(_ entry: PluginEntry) {
        let lane = state.withLock { $0.lanes.removeValue(forKey: ObjectIdentifier(entry)) }
        // Without a lane nothing came for it, and nothing will.
        if let lane { lane.close() } else { handOver(entry) }
    }

    /// Nothing is left unsettled of a plugin that was retired: the one that took its place may begin.
    func handOver(_ entry: PluginEntry) {
        let next = state.withLock { state in state.successions.remove(entry).flatMap { state.known(for: $0) } }
        next?.open()
    }

    /// The lane's tasks have ended: nothing comes to it any more. Where its last work was taken away from it, only now the
    /// plugin that took its place learns that it may begin.
    func letGo(of lane: Lane) {
        state.withLock { state in state.all.removeAll { $0 === lane } }
        handOver(lane.entry)
    }
}

/// Which plugin took the place of which, as long as the one before has something left.
struct LaneSuccessions: Sendable {
    private var successors: [ObjectIdentifier: PluginEntry] = [:]
    private var predecessors: [ObjectIdentifier: PluginEntry] = [:]

    /// Whom the plugin has to wait for.
    func predecessor(of entry: PluginEntry) -> PluginEntry? { predecessors[ObjectIdentifier(entry)] }

    mutating func add(_ old: PluginEntry, before new: PluginEntry) {
        successors[ObjectIdentifier(old)] = new
        predecessors[ObjectIdentifier(new)] = old
    }

    /// Takes a plugin of which nothing is left out of the line. Whoever waits for it waits for the one before it from now on.
    ///
    /// - Returns: the plugin that need not wait any longer.
    mutating func remove(_ entry: PluginEntry) -> PluginEntry? {
        let next = successors.removeValue(forKey: ObjectIdentifier(entry))
        let before = predecessors.removeValue(forKey: ObjectIdentifier(entry))
        if let next { predecessors[ObjectIdentifier(next)] = before }
        guard let before else { return next }
        successors[ObjectIdentifier(before)] = next
        return nil
    }
}
