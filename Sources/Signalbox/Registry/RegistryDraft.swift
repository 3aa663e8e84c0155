import SignalboxCore
import Synchronization

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
