import Synchronization

/// Holds a supervisor's lanes. A registered plugin has one lane, which is created when the first arrival for the plugin
/// comes in.
final class LaneTable: Sendable {
    private struct State {
        var lanes: [ObjectIdentifier: Lane] = [:]
        /// The lanes of removed plugins that still have work.
        var closed: [ObjectIdentifier: Lane] = [:]
        /// The lanes in both dictionaries.
        var all = Roster<Lane>()
        var replacements = PluginReplacements()

        func known(for entry: PluginEntry) -> Lane? {
            lanes[ObjectIdentifier(entry)] ?? closed[ObjectIdentifier(entry)]
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
            state.all.add(lane)
            return lane
        }
    }

    /// Records that `new` replaces `old`. If both plugins are ordered, the calls of `new` start when everything for
    /// `old` has been settled. Call ``retire(_:)`` for `old` next.
    func follow(_ old: PluginEntry, by new: PluginEntry) {
        guard old.options.order != .none, new.options.order != .none else { return }
        state.withLock { $0.replacements.add(old, before: new) }
    }

    /// Returns whether the plugin's calls must wait until a call of the task returns, because that call belongs to a
    /// plugin that this plugin replaced.
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

    /// Returns the plugin's lane if there is one, without creating it.
    func known(for entry: PluginEntry) -> Lane? {
        state.withLock { $0.lanes[ObjectIdentifier(entry)] }
    }

    var all: [Lane] { state.withLock { $0.all.all } }

    /// Closes the plugin's lane. Actions that are already waiting in the lane are still handled.
    func retire(_ entry: PluginEntry) {
        let lane = state.withLock { state -> Lane? in
            let lane = state.lanes.removeValue(forKey: ObjectIdentifier(entry))
            if let lane { state.closed[ObjectIdentifier(entry)] = lane }
            return lane
        }
        // If there is no lane, nothing has been submitted for the plugin, and nothing will be.
        if let lane { lane.close() } else { activateReplacement(of: entry) }
    }

    /// Lets a retired plugin's replacement start. Call this method when everything for the retired plugin has been
    /// settled.
    func activateReplacement(of entry: PluginEntry) {
        let next = state.withLock { state in state.replacements.remove(entry).flatMap { state.known(for: $0) } }
        next?.open()
    }

    /// Removes a lane whose tasks have ended. This also lets the replacement start, because nothing else does if the
    /// lane's last work was taken away from it.
    func release(_ lane: Lane) {
        state.withLock { state in
            state.all.remove(lane)
            if state.closed[ObjectIdentifier(lane.entry)] === lane { state.closed[ObjectIdentifier(lane.entry)] = nil }
        }
        activateReplacement(of: lane.entry)
    }
}

/// Tracks chains of replaced plugins that still have unsettled work.
struct PluginReplacements: Sendable {
    private var successors: [ObjectIdentifier: PluginEntry] = [:]
    private var predecessors: [ObjectIdentifier: PluginEntry] = [:]

    /// Returns the plugin whose work must be settled before the given plugin starts.
    func predecessor(of entry: PluginEntry) -> PluginEntry? { predecessors[ObjectIdentifier(entry)] }

    mutating func add(_ old: PluginEntry, before new: PluginEntry) {
        successors[ObjectIdentifier(old)] = new
        predecessors[ObjectIdentifier(new)] = old
    }

    /// Removes a drained plugin from its chain. The successor then waits for the removed plugin's predecessor.
    ///
    /// - Returns: The successor, if it no longer has to wait for anything.
    mutating func remove(_ entry: PluginEntry) -> PluginEntry? {
        let next = successors.removeValue(forKey: ObjectIdentifier(entry))
        let before = predecessors.removeValue(forKey: ObjectIdentifier(entry))
        if let next { predecessors[ObjectIdentifier(next)] = before }
        guard let before else { return next }
        successors[ObjectIdentifier(before)] = next
        return nil
    }
}
