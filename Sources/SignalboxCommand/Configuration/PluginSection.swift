import SignalboxCore

/// One entry of `plugins`.
struct PluginSection: Sendable {
    /// The action it is registered for.
    let action: ActionName
    /// What it does.
    let use: PluginUse
    /// Who may call it; at least one, and one that allows is enough.
    let from: [AccessSection]
    /// How long its call may take, or `nil` for the configuration's timeout.
    let timeout: Duration?
}
