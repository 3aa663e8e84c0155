import SignalboxCore
import Synchronization

/// Changes of a registry that are gathered, and carried out in one step.
final class RegistryDraft: Sendable {
    /// The one that the current task gathers changes in.
    @TaskLocal static var current: RegistryDraft?

    /// Whose plugins these are.
    let registry: Registry
    private let entries: Mutex<PluginList>
    private let changes = Mutex<[RegistryChange]>([])

    init(of registry: Registry) {
        self.registry = registry
        entries = Mutex(PluginList(registry.snapshot))
    }

    /// Gathers a change, when the current task gathers those of this registry.
    ///
    /// - Returns: `false` when it does not.
    static func take(_ change: RegistryChange, of registry: Registry) throws(RegistrationError) -> Bool {
        guard let current, current.registry === registry else { return false }
        try current.add(change)
        return true
    }

    private func add(_ change: RegistryChange) throws(RegistrationError) {
        try entries.withLock { (entries) throws(RegistrationError) in _ = try entries.apply(change) }
        changes.withLock { $0.append(change) }
    }

    /// The changes in their order.
    var gathered: [RegistryChange] { changes.withLock { $0 } }
}
