import Signalbox
import SignalboxCore

/// The place of an entry of `plugins` in a supervisor: who may call it, and its options.
struct PluginPlace {
    private let supervisor: Supervisor
    private let rule: AccessRule
    private let options: PluginOptions<RawBody>
    private let isReplacing: Bool

    /// - Parameters:
    ///   - timeout: of a plugin that names none.
    ///   - isReplacing: whether another plugin has the place now.
    init(supervisor: Supervisor, section: PluginSection, timeout: Duration, _ isReplacing: Bool) {
        self.supervisor = supervisor
        self.isReplacing = isReplacing
        rule = section.rule
        options = PluginOptions(
            timeout: section.timeout ?? timeout,
            order: section.order.lane,
            maxConcurrent: section.maxConcurrent,
            retry: section.retry,
            circuitBreaker: section.circuitBreaker,
            whenUnavailable: section.use.whenUnavailable
        )
    }

    func take<P: Plugin>(_ plugin: P) throws where P.Info == RawBody, P.Reply == Void {
        try supervisor.register(plugin, from: rule, options: options, replacing: isReplacing)
    }

    func take<P: SyncPlugin>(_ plugin: P) throws where P.Info == RawBody, P.Reply == Void {
        try supervisor.register(plugin, from: rule, options: options, replacing: isReplacing)
    }

    func take<P: SyncPlugin>(_ plugin: P) throws where P.Info == RawBody, P.Reply: Encodable {
        try supervisor.register(plugin, from: rule, options: options, replacing: isReplacing)
    }

    func take<P: BatchPlugin>(_ plugin: P) throws where P.Info == RawBody {
        try supervisor.register(plugin, from: rule, options: options, replacing: isReplacing)
    }
}
