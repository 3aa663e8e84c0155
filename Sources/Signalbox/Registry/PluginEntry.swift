import SignalboxCore

/// One registration: a name, who may call it, and how.
final class PluginEntry: Sendable {
    let action: ActionName
    let nameBytes: [UInt8]
    /// Who holds the name, in words, for the error a second registration gets.
    let holder: String
    let rule: AccessRule
    let options: LaneOptions
    let timeout: Duration
    let call: PluginCall
    let breaker: CircuitBreaker?
    /// What stands around its calls alone.
    let middleware = MiddlewareList()
    /// What explanations say of it.
    let outline: PluginOutline

    init(
        action: ActionName,
        holder: String,
        rule: AccessRule,
        options: LaneOptions,
        timeout: Duration,
        call: PluginCall,
        breaker: CircuitBreaker?
    ) {
        self.action = action.copied()
        nameBytes = Array(action.bytes)
        self.holder = holder
        self.rule = rule
        self.options = options
        self.timeout = timeout
        self.call = call
        self.breaker = breaker
        outline = PluginOutline(holder, rule, options, breaker)
        for one in options.middleware { middleware.add(one) }
    }
}
