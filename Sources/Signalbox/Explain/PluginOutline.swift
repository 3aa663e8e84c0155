import SignalboxCore

/// What explanations say of a plugin after it may have been removed: without its code, so that a dead letter keeps
/// nothing of the application alive but what its access rule holds.
final class PluginOutline: Sendable {
    let holder: String
    let rule: AccessRule
    let timeout: Duration
    let mostAttempts: Int

    init(_ holder: String, _ rule: AccessRule, _ options: LaneOptions, timeout: Duration) {
        self.holder = holder
        self.rule = rule
        self.timeout = timeout
        mostAttempts = options.retry?.attempts ?? 1
    }
}
