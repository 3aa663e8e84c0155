import SignalboxCore

/// The registered plugins while many of them change: each change costs the same, however many there are.
struct PluginList: Sendable {
    private var entries: [PluginEntry?]
    private var positions: [ActionName: Int] = [:]

    init(_ table: PluginTable) {
        entries = table.entries
        for (position, entry) in table.entries.enumerated() { positions[entry.action] = position }
    }

    /// - Returns: the plugin that lost its place.
    mutating func apply(_ change: RegistryChange) throws(RegistrationError) -> PluginEntry? {
        switch change {
        case .add(let entry):
            if let held = positions[entry.action].flatMap({ entries[$0] }) {
                throw .duplicateAction(held.action, holder: held.holder)
            }
            positions[entry.action] = entries.count
            entries.append(entry)
            return nil
        case .replace(let entry):
            guard let position = positions[entry.action] else { throw .noSuchAction(entry.action) }
            defer { entries[position] = entry }
            return entries[position]
        case .remove(let action):
            guard let position = positions.removeValue(forKey: action) else { throw .noSuchAction(action) }
            defer { entries[position] = nil }
            return entries[position]
        }
    }

    func entry(named action: ActionName) -> PluginEntry? { positions[action].flatMap { entries[$0] } }

    var table: PluginTable { PluginTable(entries: entries.compactMap { $0 }) }
}
