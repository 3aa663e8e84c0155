import Signalbox
import SignalboxCore

/// How a supervisor is set up for one row: nothing but the plugin, unless something is said.
struct StageSetting: Sendable {
    /// How many actions are registered, the one that is called included.
    var registered = 31
    /// Which are called, in turns.
    var called = ["payment"]
    var sources: [SourceName] = ["benchmark"]
    var features: AdapterFeatures = []
    var rateLimit: RateLimit?
    var repeats = RepeatPolicy.never
    var options = PluginOptions<Payment>()
    var middleware: [any Middleware] = []
    var configuration = SupervisorConfiguration()
    /// How many different `paymentId`s the messages have.
    var keys = 1
    /// How many messages, one after the other, have the same id and content.
    var messagesPerID = 1
    var hasDeadline = false
    /// Whether the handler may wait; it does not.
    var isAsync = false
    /// Whether every message is handled; else none is.
    var isHandled = true
    /// Forgets what was gathered since the last time.
    var forget: @Sendable () -> Void = {}
}
