import Signalbox
import SignalboxCore

/// All that happens to a supervisor in one simulated run, except the order in which ready jobs run.
///
/// Times are in ticks of the supervisor's timer, from the start of the simulation.
struct Scenario: Sendable {
    var seed: UInt64 = 0
    var sources: [SourceScenario]
    /// The plugins registered at the start, at most one for each action.
    var plugins: [PluginScenario]
    /// The messages that sources can send. A message that is sent twice is a duplicate.
    var messages: [MessageScenario]
    var disturbances: [Disturbance] = []
    /// The tick at which the supervisor starts to run. Until then, arrivals wait in the windows.
    var opensAt = 0
    var ending = Ending.whenIdle
    var timeout = 30
    var drainLimit = 100
    var ackDeadline = 50
    var deadLetters = DeadLetterLimits()
    /// The tick at which a `whenIdle` run is shut down at the latest.
    var latestEnd = Scenario.latestEnd
    /// The part of a simulation with a store that this run is, or `nil` without a store.
    var journal: JournalRunScenario?

    /// The end of the run.
    enum Ending: Sendable, Hashable {
        /// A graceful shutdown when everything sent is settled, or at `latestEnd`.
        case whenIdle
        case shutDown(at: Int)
        case cancel(at: Int)
    }

    /// The latest end of most runs.
    static let latestEnd = 200
}

/// One source, and the messages that it sends over time.
struct SourceScenario: Sendable {
    var index = 0
    var kind = Kind.adapter
    var features: AdapterFeatures = []
    var window = WindowLimits()
    var rateLimit: RateLimit?
    var deduplication = Deduplication.automatic
    /// The tick at which the source is added, or `nil` to add it before the supervisor runs.
    var joinsAt: Int?
    var feeds: [Feed] = []
    /// The number of ticks that the source waits after `room()` has returned.
    var lingers = 0
    /// The limits of the source's journal, or `nil` if it has none.
    var journal: JournalLimits?

    enum Kind: Sendable, Hashable {
        /// An adapter that sends everything and then waits for its cancellation. An ending one returns instead.
        case adapter
        case endingAdapter
        /// The test kit's `InMemoryAdapter`.
        case inMemory
        /// An intake without an adapter. Plugins that deliver messages use such a source.
        case intake
    }

    /// The deduplication policy of a source. Times are in ticks.
    enum Deduplication: Sendable, Hashable {
        case automatic
        case never
        case within(count: Int, time: Int, bytes: Int)
    }

    /// Messages that are submitted together, `pause` ticks after the previous ones.
    struct Feed: Sendable {
        var pause = 0
        var messages: [Int]
    }

    /// Whether the rate limit slows the source and rejects nothing.
    var isSlowed: Bool { features.contains(.redelivers) }

    var name: SourceName { SourceName(stringLiteral: "s\(index)") }

    var deduplicationPolicy: DeduplicationPolicy {
        switch deduplication {
        case .automatic: .automatic
        case .never: .never
        case .within(let count, let time, let bytes):
            .within(DeduplicationLimits(count: count, time: Simulation.tick * time, bytes: bytes))
        }
    }

    /// The limits of remembered ids: their number, time in ticks and bytes of replies. `nil` remembers none.
    var remembered: (count: Int, time: Int, bytes: Int)? {
        switch deduplication {
        case .automatic: features.contains(.stableIDs) ? (10_000, 6_000, 1_000_000) : nil
        case .never: nil
        case .within(let count, let time, let bytes): (count, time, bytes)
        }
    }
}

/// One message, and the acts of plugins called with it.
struct MessageScenario: Sendable {
    var index = 0
    /// The source that sends the message.
    var source = -1
    var content = Content.readable
    /// The action, which may have no plugin.
    var action = 0
    /// The sender's id, or `nil` if one is assigned.
    var id: String?
    var key = 0
    var deadline = Deadline.none
    /// The acts of the plugin at the first call, the second, and so on. The last one applies to all further calls.
    var acts = [PluginAct.returns]

    enum Content: Sendable, Hashable {
        case readable
        /// A body that does not decode as `SimulatedInfo`.
        case invalidBody
        /// Text that is not JSON.
        case unreadable
    }

    /// A deadline that is never near, because real time must not affect the run.
    enum Deadline: Sendable, Hashable { case none, past, far }

    /// An action that never has a plugin.
    static let unknown = 99

    func act(call: Int) -> PluginAct { acts[min(call, acts.count - 1)] }

    /// The bytes on the wire. The simulation identifies the message by the `#index#` in them.
    var text: String {
        let id = id.map { "\"id\":\"\($0)\"," } ?? ""
        return switch content {
        case .readable:
            "{\"action\":\"p\(action)\",\(id)\"body\":{\"mark\":\"#\(index)#\",\"message\":\(index),\"key\":\(key)}}"
        case .invalidBody: "{\"action\":\"p\(action)\",\(id)\"body\":{\"mark\":\"#\(index)#\"}}"
        case .unreadable: "{#\(index)#"
        }
    }

    /// Returns the index of the message that these bytes hold.
    static func index(in text: some Sequence<UInt8>) -> Int? {
        let mark = UInt8(ascii: "#")
        let number = text.drop { $0 != mark }.dropFirst().prefix { $0 != mark }
        return Int(String(decoding: Array(number), as: UTF8.self))
    }
}

/// The body that simulated plugins decode.
struct SimulatedInfo: Codable, Sendable {
    let message: Int
    let key: Int
}

/// One registration of a plugin.
struct PluginScenario: Sendable {
    var action = 0
    var kind = Kind.async
    /// The sources that the plugin's rule allows.
    var sources = [0]
    /// The timeout in ticks, or `nil` for the supervisor's timeout.
    var timeout: Int?
    var order = Order.source
    var maxConcurrent = 1
    var runsInline = false
    var retry: Retry?
    /// The number of ticks in which all calls of one action begin, or `nil` for any.
    var retriesUpTo: Int?
    /// Whether the plugin gives actions back while it is unavailable.
    var givesBackWhenUnavailable = false
    var breaker: Breaker?
    var middleware: [MiddlewareScenario] = []

    enum Kind: Sendable, Hashable { case sync, async, batch }
    enum Order: Sendable, Hashable { case source, key, none }

    struct Retry: Sendable, Hashable {
        var attempts: Int
        /// The delay in ticks.
        var firstDelay: Int
        var longestDelay: Int
    }

    struct Breaker: Sendable, Hashable {
        var failures: Int
        /// The open time in ticks.
        var openFor: Int
    }

    var name: ActionName { ActionName(stringLiteral: "p\(action)") }
}

/// An act of a plugin in one call.
enum PluginAct: Sendable, Hashable {
    case returns
    /// Yields to other jobs `count` times.
    case yields(Int)
    /// Returns after a number of ticks, possibly after its timeout.
    case waits(Int)
    case fails(retryable: Bool, after: Int)
    /// Returns only when the run is over.
    case hangs
    /// Delivers another message through a source and awaits its outcome.
    case delivers(message: Int, through: Int)
    /// Fails after a number of ticks, and gives the action back.
    case givesBack(after: Int)
    /// Ends the process, unless a dead letter is replayed.
    case dies

    /// The act for a sync plugin, which cannot wait.
    var withoutWaiting: PluginAct {
        switch self {
        case .fails(let retryable, _): .fails(retryable: retryable, after: 0)
        case .givesBack: .givesBack(after: 0)
        case .dies: .dies
        default: .returns
        }
    }
}

/// A middleware whose act for a message is selected by the message's index, modulo the number of acts.
struct MiddlewareScenario: Sendable, Hashable {
    var acts = [MiddlewareAct.passes]

    func act(message: Int) -> MiddlewareAct { acts[message % acts.count] }
}

/// An act of middleware for one message.
enum MiddlewareAct: Sendable, Hashable {
    case passes
    /// Passes the message on after a number of ticks.
    case waits(Int)
    /// Returns a reply without calling the plugin.
    case answers
    /// Returns a failure without calling the plugin.
    case fails(retryable: Bool)
    /// Rejects the message without calling the plugin.
    case rejects
    /// Abandons the message without passing it on.
    case abandons
    /// Passes the message on and abandons it whatever its outcome.
    case throwsAway
}

/// A change of the supervisor while messages flow.
struct Disturbance: Sendable {
    var at: Int
    var kind: Kind

    indirect enum Kind: Sendable {
        /// Registers the plugin. Refused if its action has one.
        case register(PluginScenario)
        /// Replaces the plugin of the action. Refused if there is none.
        case replace(PluginScenario)
        case remove(action: Int)
        case use(MiddlewareScenario, action: Int?)
        /// Several plugin changes in one step. None takes effect if one is refused.
        case together([Kind])
        case removeSource(Int)
        /// Adds a source again. Refused if the source exists.
        case addSource(Int)
    }
}

extension Scenario: CustomStringConvertible {
    /// The scenario as lines, with which the log of a replay begins.
    var description: String {
        var lines = [
            "seed \(seed): opens at \(opensAt), ends \(ending); timeout \(timeout), drain \(drainLimit), "
                + "ack deadline \(ackDeadline), keeps \(deadLetters.count) dead letters of \(deadLetters.bytes) bytes"
        ]
        lines += sources.map { "  \($0)" }
        lines += plugins.map { "  \($0)" }
        lines += messages.map { "  \($0)" }
        lines += disturbances.map { "  at \($0.at): \($0.kind)" }
        return lines.joined(separator: "\n")
    }
}

extension SourceScenario: CustomStringConvertible {
    var description: String {
        let names: [(AdapterFeatures, String)] = [(.redelivers, "redelivers"), (.stableIDs, "stable ids")]
        let features = names.filter { self.features.contains($0.0) }.map(\.1).joined(separator: ", ")
        let sent = feeds.map { "+\($0.pause) \($0.messages.map { "m\($0)" }.joined(separator: " "))" }
        return "s\(index): \(kind) (\(features)), window \(window.arrivals) / \(window.bytes) bytes, lingers \(lingers)"
            + (joinsAt.map { ", joins at \($0)" } ?? "") + (rateLimit.map { ", rate \($0)" } ?? "")
            + ", deduplication \(deduplication)"
            + (journal.map { ", journal of \($0.rows) rows, \($0.bytes) bytes, \($0.age)" } ?? "") + "; sends "
            + sent.joined(separator: "; ")
    }
}

extension PluginScenario: CustomStringConvertible {
    var description: String {
        "p\(action): \(kind) from \(sources.map { "s\($0)" }), timeout \(timeout.map { "\($0)" } ?? "-"), order \(order), "
            + "\(maxConcurrent) at once" + (retry.map { ", \($0)" } ?? "")
            + (retriesUpTo.map { ", retries up to \($0)" } ?? "")
            + (givesBackWhenUnavailable ? ", gives back when unavailable" : "") + (breaker.map { ", \($0)" } ?? "")
            + middleware.map { ", middleware \($0.acts)" }.joined()
    }
}

extension MessageScenario: CustomStringConvertible {
    var description: String {
        "m\(index): p\(action), id \(id ?? "-"), key \(key), \(content)"
            + (deadline == .none ? "" : ", deadline \(deadline)") + "; \(acts)"
    }
}
