import SignalboxCore
import Synchronization

/// The plugins by action name: a snapshot that is replaced as a whole, while messages flow.
final class Registry: Sendable {
    private let table = Mutex(PluginTable(entries: []))
    private let lanes: LaneTable

    /// - Parameter lanes: told which plugin takes the place of which before any arrival can find it there.
    init(lanes: LaneTable) {
        self.lanes = lanes
    }

    var snapshot: PluginTable { table.withLock { $0 } }

    /// Puts another table in the place of the one there is.
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

    /// Puts the entry in the place of the one that holds its name, and returns that one.
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
    /// Carries out changes in their order: all in one step, or none.
    ///
    /// - Returns: the plugins that lost their places.
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

/// One step of what becomes of the registered plugins.
enum RegistryChange: Sendable {
    case add(PluginEntry)
    /// Takes the place of the plugin that holds the name.
    case replace(PluginEntry)
    case remove(ActionName)
}

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

/// Changes of a registry that are gathered, and carried out in one step.
final class RegistryDraft: Sendable {
    /// The one that the current task gathers changes in.
    @TaskLocal static var current: RegistryDraft?

    /// Whose plugins these are.
    let registry: Registry
    private let state: Mutex<State>

    private struct State {
        var entries: PluginList
        var changes: [RegistryChange] = []
        /// Nothing more is gathered: a task that was begun meanwhile may still know of the draft.
        var isClosed = false
    }

    init(of registry: Registry) {
        self.registry = registry
        state = Mutex(State(entries: PluginList(registry.snapshot)))
    }

    /// The one in which the current task gathers changes of this registry.
    static func open(for registry: Registry) -> RegistryDraft? {
        guard let current, current.registry === registry, !current.state.withLock(\.isClosed) else { return nil }
        return current
    }

    /// Gathers a change, when the current task gathers those of this registry.
    ///
    /// - Returns: `false` when it does not.
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

    /// The plugin that holds the name after the changes so far.
    func entry(named action: ActionName) -> PluginEntry? { state.withLock { $0.entries.entry(named: action) } }

    /// Ends the gathering.
    ///
    /// - Returns: the changes in their order.
    @discardableResult
    func close() -> [RegistryChange] {
        state.withLock { state in
            state.isClosed = true
            return state.changes
        }
    }
}
