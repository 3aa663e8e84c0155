import Signalbox
import SignalboxCore

/// All that happens to a supervisor in one simulated run, except in which order what is ready at the same time goes on.
///
/// Times are in ticks of the supervisor's timer, from the beginning of the run.
struct Scenario: Sendable {
    var seed: UInt64 = 0
    var sources: [SourceScenario]
    /// What is registered at the beginning: of each action at most one.
    var plugins: [PluginScenario]
    /// What can be sent. One that is sent twice is a repeat.
    var messages: [MessageScenario]
    var disturbances: [Disturbance] = []
    /// Before that, what is sent waits in the windows.
    var opensAt = 0
    var ending = Ending.whenIdle
    var timeout = 30
    var drainLimit = 100
    var holdLimit = 50
    var deadLetters = DeadLetterLimits()

    /// How the run ends.
    enum Ending: Sendable, Hashable {
        /// A graceful shutdown when everything sent is settled, or late in the run.
        case whenIdle
        case shutDown(at: Int)
        case cancel(at: Int)
    }

    /// When a run that would go on is shut down.
    static let latestEnd = 200
}

/// One source and what it sends when.
struct SourceScenario: Sendable {
    var index = 0
    var kind = Kind.adapter
    var features: AdapterFeatures = []
    var window = WindowLimits()
    var rateLimit: RateLimit?
    var repeats = Repeats.automatic
    /// When it is added; before the supervisor runs when `nil`.
    var joinsAt: Int?
    var feeds: [Feed] = []
    /// How long it does nothing after it was told that there is room.
    var lingers = 0

    enum Kind: Sendable, Hashable {
        /// An adapter that waits for its cancellation when all is sent, or ends by itself.
        case adapter
        case endingAdapter
        /// `InMemoryAdapter` of the test kit.
        case inMemory
        /// No adapter: whoever sends has asked for an intake. Plugins that send use such a source.
        case intake
    }

    /// Whether messages that come again are recognised; the time in ticks.
    enum Repeats: Sendable, Hashable {
        case automatic
        case never
        case within(count: Int, time: Int, bytes: Int)
    }

    /// Messages that are submitted together, so many ticks after the ones before.
    struct Feed: Sendable {
        var pause = 0
        var messages: [Int]
    }

    /// Whether its rate limit slows it, and refuses nothing.
    var isSlowed: Bool { features.contains(.redelivers) }

    var name: SourceName { SourceName(stringLiteral: "s\(index)") }

    var repeatPolicy: RepeatPolicy {
        switch repeats {
        case .automatic: .automatic
        case .never: .never
        case .within(let count, let time, let bytes):
            .within(RepeatLimits(count: count, time: Simulation.tick * time, bytes: bytes))
        }
    }

    /// How many ids are remembered for how many ticks, and with how many bytes of replies; `nil` when none are.
    var remembered: (count: Int, time: Int, bytes: Int)? {
        switch repeats {
        case .automatic: features.contains(.stableIDs) ? (10_000, 6_000, 1_000_000) : nil
        case .never: nil
        case .within(let count, let time, let bytes): (count, time, bytes)
        }
    }
}

/// One message, and what plugins do with it.
struct MessageScenario: Sendable {
    var index = 0
    /// The source that sends it.
    var source = -1
    var content = Content.readable
    /// The action, which need not have a plugin.
    var action = 0
    /// The sender's id; one is assigned when `nil`.
    var id: String?
    var key = 0
    var deadline = Deadline.none
    /// What the plugin does at the first call, the second, and so on; the last counts for all further ones.
    var acts = [PluginAct.returns]

    enum Content: Sendable, Hashable {
        case readable
        /// A body that is no `SimulatedInfo`.
        case invalidBody
        /// No JSON at all.
        case unreadable
    }

    /// Real time must not matter, so there is no deadline that is near.
    enum Deadline: Sendable, Hashable { case none, past, far }

    /// The action that never has a plugin.
    static let unknown = 99

    func act(call: Int) -> PluginAct { acts[min(call, acts.count - 1)] }

    /// The bytes on the wire. `#index#` in them is how the simulation knows the message again.
    var text: String {
        let id = id.map { "\"id\":\"\($0)\"," } ?? ""
        return switch content {
        case .readable:
            "{\"action\":\"p\(action)\",\(id)\"body\":{\"mark\":\"#\(index)#\",\"message\":\(index),\"key\":\(key)}}"
        case .invalidBody: "{\"action\":\"p\(action)\",\(id)\"body\":{\"mark\":\"#\(index)#\"}}"
        case .unreadable: "{#\(index)#"
        }
    }

    /// The message that these bytes are.
    static func index(in text: some Sequence<UInt8>) -> Int? {
        let mark = UInt8(ascii: "#")
        let number = text.drop { $0 != mark }.dropFirst().prefix { $0 != mark }
        return Int(String(decoding: Array(number), as: UTF8.self))
    }
}

/// What the plugins of a simulation are called with.
struct SimulatedInfo: Codable, Sendable {
    let message: Int
    let key: Int
}

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

/// What a plugin does in one call.
enum PluginAct: Sendable, Hashable {
    case returns
    /// Lets others go first, so many times.
    case yields(Int)
    /// Returns after so many ticks, maybe after its timeout.
    case waits(Int)
    case fails(retryable: Bool, after: Int)
    /// Returns only when the run is over.
    case hangs
    /// Delivers another message through a source and awaits its outcome.
    case delivers(message: Int, through: Int)

    /// A sync plugin does not wait.
    var withoutWaiting: PluginAct {
        if case .fails(let retryable, _) = self { .fails(retryable: retryable, after: 0) } else { .returns }
    }
}

/// Middleware, and what it does with each message: of its acts the one at the message's index, again and again.
struct MiddlewareScenario: Sendable, Hashable {
    var acts = [MiddlewareAct.passes]

    func act(message: Int) -> MiddlewareAct { acts[message % acts.count] }
}

/// What middleware does with one message.
enum MiddlewareAct: Sendable, Hashable {
    case passes
    /// Passes it on after so many ticks.
    case waits(Int)
    /// Answers in the plugin's place.
    case answers
    /// Says in the plugin's place that it failed.
    case fails(retryable: Bool)
    /// Rejects it in the plugin's place.
    case rejects
    /// Lets go of it without passing it on.
    case abandons
    /// Passes it on, and lets go of it whatever became of it.
    case throwsAway
}

/// Something that changes the supervisor while messages flow.
struct Disturbance: Sendable {
    var at: Int
    var kind: Kind

    indirect enum Kind: Sendable {
        /// Registers the plugin; refused when its action has one.
        case register(PluginScenario)
        /// Registers it in the place of the one there; refused when there is none.
        case replace(PluginScenario)
        case remove(action: Int)
        case use(MiddlewareScenario, action: Int?)
        /// Several changes of plugins at once: all of them, or none when one is refused.
        case together([Kind])
        case removeSource(Int)
        /// Adds a source again; refused when it is there.
        case addSource(Int)
    }
}

extension Scenario: CustomStringConvertible {
    /// The scenario in lines, as the log of a replay begins with.
    var description: String {
        var lines = [
            "seed \(seed): opens at \(opensAt), ends \(ending); timeout \(timeout), drain \(drainLimit), hold \(holdLimit), "
                + "keeps \(deadLetters.count) dead letters of \(deadLetters.bytes) bytes"
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
            + ", repeats \(repeats); sends " + sent.joined(separator: "; ")
    }
}

extension PluginScenario: CustomStringConvertible {
    var description: String {
        "p\(action): \(kind) from \(sources.map { "s\($0)" }), timeout \(timeout.map { "\($0)" } ?? "-"), order \(order), "
            + "\(maxConcurrent) at once" + (retry.map { ", \($0)" } ?? "") + (breaker.map { ", \($0)" } ?? "")
            + middleware.map { ", middleware \($0.acts)" }.joined()
    }
}

extension MessageScenario: CustomStringConvertible {
    var description: String {
        "m\(index): p\(action), id \(id ?? "-"), key \(key), \(content)"
            + (deadline == .none ? "" : ", deadline \(deadline)") + "; \(acts)"
    }
}
