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
