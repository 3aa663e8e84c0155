import Signalbox
import SignalboxCore

/// The validated content of a configuration file.
struct RunConfiguration: Sendable {
    /// The sources in file order; at least one, unless the command needs only the navigation chain.
    var sources: [SourceSection] = []
    /// The plugins in file order; one per action.
    var plugins: [PluginSection] = []
    /// The limits of one message, for every source.
    var limits = MessageLimits()
    /// The limits of the dead letter store.
    var deadLetters = DeadLetterLimits()
    /// The timeout of a plugin call, unless the plugin sets its own.
    var timeout: Duration = .seconds(3)
    /// The ack deadline: how long an arrival of a redelivering source may wait for its call to begin.
    var ackDeadline: Duration = .seconds(5)
    /// The maximum duration of a drain.
    var drainLimit: Duration = .seconds(10)
    /// The maximum number of log lines per second about one source's arrivals.
    var logLinesPerSecond = 50
    /// The chain that decides which URLs a page may load, if configured.
    var navigation: NavigationSection?
    /// The warnings that `run` logs too: secrets that other users can read, and former names of keys.
    var warnings: [ConfigurationProblem] = []
}

extension RunConfiguration {
    /// The path of the first `file` plugin's append log, if there is one.
    var firstAppendLog: String? {
        plugins.lazy.compactMap { if case .file(let path) = $0.use { path } else { nil } }.first
    }
}

/// An entry of `sources`.
struct SourceSection: Sendable, Hashable {
    /// The key of the entry.
    let name: SourceName
    /// The kind of source and its settings.
    var kind: SourceKind
    /// The limits on arrivals that are not settled.
    var window = WindowLimits()
    /// The rate limit; `nil` for none.
    var rateLimit: RateLimit?
    /// Whether messages are deduplicated.
    var deduplication = DeduplicationPolicy.automatic

    /// The source of actions from `signalbox send`; no entry may have this name.
    static let internalName: SourceName = "internal"
}

/// The kind of a source, which is the key below its name.
enum SourceKind: Sendable, Hashable {
    /// Topics of a broker.
    case mqtt(MQTTSection)
    /// A headless page.
    case script(ScriptSection)
    /// URLs from a list, a file or stdin.
    case links(LinksSection)
    /// A client of a WebSocket server.
    case feed(FeedSection)
    /// A WebSocket server in this process.
    case chat(ChatSection)

    /// The keys, in the order in which messages list them.
    static let keys = ["mqtt", "script", "links", "feed", "chat"]
}
