import Signalbox
import SignalboxCore

/// One registration of a plugin.
struct PluginScenario: Sendable {
    var action = 0
    var kind = Kind.async
    /// The sources it allows.
    var sources = [0]
    /// In ticks; the supervisor's own when `nil`.
    var timeout: Int?
    var order = Order.source
    var maxConcurrent = 1
    var retry: Retry?
    var breaker: Breaker?
    var middleware: [MiddlewareScenario] = []

    enum Kind: Sendable, Hashable { case sync, async, batch }
    enum Order: Sendable, Hashable { case source, key, none }

    struct Retry: Sendable, Hashable {
        var attempts: Int
        /// In ticks.
        var firstDelay: Int
        var longestDelay: Int
    }

    struct Breaker: Sendable, Hashable {
        var failures: Int
        /// In ticks.
        var openFor: Int
    }

    var name: ActionName { ActionName(stringLiteral: "p\(action)") }
}
