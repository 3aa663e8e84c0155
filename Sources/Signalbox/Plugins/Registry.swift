import SignalboxCore
import Synchronization

/// The plugins by action name, as a snapshot that is replaced as a whole while messages flow.
final class Registry: Sendable {
    private let table = Mutex(PluginTable(entries: []))
    private let lanes: LaneTable

    /// - Parameter lanes: The lanes, which record each replacement before an arrival can reach the new plugin.
    init(lanes: LaneTable) {
        self.lanes = lanes
    }

    var snapshot: PluginTable { table.withLock { $0 } }

    /// Replaces the table with the result of `change`.
    func exchange<Result>(
        _ change: (PluginTable) throws(RegistrationError) -> (PluginTable, Result)
    ) throws(RegistrationError) -> Result {
        try table.withLock { (table) throws(RegistrationError) in
            let (next, result) = try change(table)
            for entry in next.entries {
                guard let held = table.entry(named: entry.action), held !== entry else { continue }
                lanes.follow(held, by: entry)
            }
            table = next
            return result
        }
    }

    func add(_ entry: PluginEntry) throws(RegistrationError) {
        try table.withLock { (table) throws(RegistrationError) in
            if let held = table.entry(named: entry.action) {
                throw .duplicateAction(held.action, holder: held.holder)
            }
            table = table.adding(entry)
        }
    }

    /// Replaces the entry with the same name, and returns the old one.
    func replace(with entry: PluginEntry) throws(RegistrationError) -> PluginEntry {
        try table.withLock { (table) throws(RegistrationError) in
            guard let held = table.entry(named: entry.action) else { throw .noSuchAction(entry.action) }
            lanes.follow(held, by: entry)
            table = table.removing(held).adding(entry)
            return held
        }
    }

    func remove(_ action: ActionName) throws(RegistrationError) -> PluginEntry {
        try table.withLock { (table) throws(RegistrationError) in
            guard let held = table.entry(named: action) else { throw .noSuchAction(action) }
            table = table.removing(held)
            return held
        }
    }
}

extension Registry {
    /// Applies the changes in order, either all in one step or none.
    ///
    /// - Returns: The plugins that were replaced or removed.
    func update(_ changes: [RegistryChange]) throws(RegistrationError) -> [PluginEntry] {
        try exchange { (table) throws(RegistrationError) in
            var list = PluginList(table)
            var lost: [PluginEntry] = []
            for change in changes {
                if let entry = try list.apply(change) { lost.append(entry) }
            }
            return (list.table, lost)
        }
    }
}

/// A single registry change: add, replace or remove.
enum RegistryChange: Sendable {
    case add(PluginEntry)
    /// Replaces the plugin with the same action.
    case replace(PluginEntry)
    case remove(ActionName)
}

/// A list of registered plugins for applying many changes. The cost of a change is independent of their number.
struct PluginList: Sendable {
    private var entries: [PluginEntry?]
    private var positions: [ActionName: Int] = [:]

    init(_ table: PluginTable) {
        entries = table.entries
        for (position, entry) in table.entries.enumerated() { positions[entry.action] = position }
    }

    /// - Returns: The plugin that was replaced or removed.
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

/// A set of registry changes that are collected and then applied in one step.
final class RegistryDraft: Sendable {
    /// The draft that collects the current task's changes.
    @TaskLocal static var current: RegistryDraft?

    /// The registry to be changed.
    let registry: Registry
    private let state: Mutex<State>

    private struct State {
        var entries: PluginList
        var changes: [RegistryChange] = []
        /// Whether the draft accepts no more changes. A task started during collection may still refer to the draft.
        var isClosed = false
    }

    init(of registry: Registry) {
        self.registry = registry
        state = Mutex(State(entries: PluginList(registry.snapshot)))
    }

    /// Returns the open draft of the current task for this registry.
    static func open(for registry: Registry) -> RegistryDraft? {
        guard let current, current.registry === registry, !current.state.withLock(\.isClosed) else { return nil }
        return current
    }

    /// Adds a change to the current task's draft for this registry.
    ///
    /// - Returns: `false` if there is no open draft.
    static func take(_ change: RegistryChange, of registry: Registry) throws(RegistrationError) -> Bool {
        guard let current, current.registry === registry else { return false }
        return try current.add(change)
    }

    private func add(_ change: RegistryChange) throws(RegistrationError) -> Bool {
        try state.withLock { (state) throws(RegistrationError) in
            guard !state.isClosed else { return false }
            _ = try state.entries.apply(change)
            state.changes.append(change)
            return true
        }
    }

    /// Returns the plugin of an action after the changes so far.
    func entry(named action: ActionName) -> PluginEntry? { state.withLock { $0.entries.entry(named: action) } }

    /// Closes the draft.
    ///
    /// - Returns: The changes in order.
    @discardableResult
    func close() -> [RegistryChange] {
        state.withLock { state in
            state.isClosed = true
            return state.changes
        }
    }
}
