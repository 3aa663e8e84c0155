import Synchronization

/// The lanes of a supervisor. Each registered plugin that has received arrivals has one lane.
final class LaneTable: Sendable {
    private struct State {
        var lanes: [ObjectIdentifier: Lane] = [:]
        /// The lanes in order of creation. The lanes of removed plugins stay in the list as long as they have work.
        var all: [Lane] = []
        var replacements = PluginReplacements()

        func known(for entry: PluginEntry) -> Lane? {
            lanes[ObjectIdentifier(entry)] ?? all.first { $0.entry === entry }
        }
    }

    private let state = Mutex(State())

    func lane(for entry: PluginEntry, core: SupervisorCore) -> Lane {
        state.withLock { state in
            if let lane = state.lanes[ObjectIdentifier(entry)] { return lane }
            let lane = Lane(
                entry: entry,
                core: core,
                lanes: self,
                isWaitingForPredecessor: state.replacements.predecessor(of: entry) != nil
            )
            state.lanes[ObjectIdentifier(entry)] = lane
            state.all.append(lane)
            return lane
        }
    }

    /// Records that `new` replaces `old`. If both plugins are ordered, the calls of `new` start when everything of
    /// `old` is settled. Call ``retire(_:)`` for `old` next.
    func follow(_ old: PluginEntry, by new: PluginEntry) {
        guard old.options.order != .none, new.options.order != .none else { return }
        state.withLock { $0.replacements.add(old, before: new) }
    }

    /// Returns whether the calls of the plugin can start only after a call of the task returns, because that call
    /// belongs to a plugin that this plugin replaced.
    func isWaitingForPredecessor(_ entry: PluginEntry, withCallIn task: Int) -> Bool {
        var entry = entry
        while let (before, lane) = state.withLock({ state in
            state.replacements.predecessor(of: entry).map { ($0, state.known(for: $0)) }
        }) {
            if lane?.hasCall(in: task) == true { return true }
            entry = before
        }
        return false
    }

    /// Returns the plugin's lane if it has one. This method creates no lane.
    func known(for entry: PluginEntry) -> Lane? {
        state.withLock { $0.lanes[ObjectIdentifier(entry)] }
    }

    var all: [Lane] { state.withLock { $0.all } }

    /// Closes the plugin's lane. The actions that wait in the lane are still handled.
    func retire(_ entry: PluginEntry) {
        let lane = state.withLock { $0.lanes.removeValue(forKey: ObjectIdentifier(entry)) }
        // If there is no lane, nothing was submitted for the plugin, and nothing will be.
        if let lane { lane.close() } else { activateReplacement(of: entry) }
    }

    /// Lets the replacement of a retired plugin start. Call this method when everything of the retired plugin is
    /// settled.
    func activateReplacement(of entry: PluginEntry) {
        let next = state.withLock { state in state.replacements.remove(entry).flatMap { state.known(for: $0) } }
        next?.open()
    }

    /// Removes a lane whose tasks have ended. This call also lets the replacement start, because nothing else does so
    /// if the last work of the lane was taken away from it.
    func release(_ lane: Lane) {
        state.withLock { state in state.all.removeAll { $0 === lane } }
        activateReplacement(of: lane.entry)
    }
}

/// The chains of replaced plugins that still have unsettled work.
struct PluginReplacements: Sendable {
    private var successors: [ObjectIdentifier: PluginEntry] = [:]
    private var predecessors: [ObjectIdentifier: PluginEntry] = [:]

    /// Returns the plugin whose work must be settled before this one starts.
    func predecessor(of entry: PluginEntry) -> PluginEntry? { predecessors[ObjectIdentifier(entry)] }

    mutating func add(_ old: PluginEntry, before new: PluginEntry) {
        successors[ObjectIdentifier(old)] = new
        predecessors[ObjectIdentifier(new)] = old
    }

    /// Removes a drained plugin from its chain. Its successor then waits for its predecessor.
    ///
    /// - Returns: The successor, if it has nothing left to wait for.
    mutating func remove(_ entry: PluginEntry) -> PluginEntry? {
        let next = successors.removeValue(forKey: ObjectIdentifier(entry))
        let before = predecessors.removeValue(forKey: ObjectIdentifier(entry))
        if let next { predecessors[ObjectIdentifier(next)] = before }
        guard let before else { return next }
        successors[ObjectIdentifier(before)] = next
        return nil
    }
}
