import SignalboxCore

/// One registration: a name, who may call it, and how.
final class PluginEntry: Sendable {
    let action: ActionName
    let nameBytes: [UInt8]
    /// Who holds the name, in words, for the error a second registration gets.
    let holder: String
    let rule: AccessRule
    let timeout: Duration
    let call: PluginCall

    init(action: ActionName, holder: String, rule: AccessRule, timeout: Duration, call: PluginCall) {
        self.action = action.copied()
        nameBytes = Array(action.bytes)
        self.holder = holder
        self.rule = rule
        self.timeout = timeout
        self.call = call
    }
}
