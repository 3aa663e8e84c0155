import Signalbox
import SignalboxCore

/// What a configuration file says, checked: names are names, patterns are patterns, numbers are in their ranges.
struct RunConfiguration: Sendable {
    /// In the order of the file; at least one, unless only the navigation chain is asked for.
    var sources: [SourceSection] = []
    /// In the order of the file; each action once.
    var plugins: [PluginSection] = []
    /// The bounds of one message, for every source.
    var limits = MessageLimits()
    /// What the store of dead letters keeps.
    var deadLetters = DeadLetterLimits()
    /// How long a plugin's call may take when the plugin names no other time.
    var timeout: Duration = .seconds(3)
    /// How long a source that redelivers holds a message unacknowledged.
    var holdLimit: Duration = .seconds(5)
    /// How long a drain may take.
    var drainLimit: Duration = .seconds(10)
    /// The most log lines a second about one source's dead letters.
    var logLinesPerSecond = 50
    /// Who decides which URLs a page may load, where that is said.
    var navigation: NavigationSection?
    /// Warnings about secrets that others can read, which `run` logs too.
    var exposures: [ConfigurationProblem] = []
}

extension RunConfiguration {
    /// The ledger of the first plugin `file`, if there is one.
    var firstLedger: String? {
        plugins.lazy.compactMap { if case .file(let path) = $0.use { path } else { nil } }.first
    }
}

/// One entry of `sources`.
struct SourceSection: Sendable, Hashable {
    /// The entry's key.
    let name: SourceName
    /// What kind of source it is, and how to reach it.
    var kind: SourceKind
    /// How much of it may be inside at once.
    var window = WindowLimits()
    /// How much of it is let in; all of it when `nil`.
    var rateLimit: RateLimit?
    /// Whether messages that come again are recognised.
    var repeats = RepeatPolicy.automatic

    /// The source of what `signalbox send` sends; no entry may have this name.
    static let internalName: SourceName = "internal"
}

/// What a source is: the key below its name.
enum SourceKind: Sendable, Hashable {
    /// Topics of a broker.
    case mqtt(MQTTSection)
    /// A page without a window.
    case script(ScriptSection)
    /// URLs of a list, a file or stdin.
    case links(LinksSection)
    /// A WebSocket server that is connected to.
    case feed(FeedSection)
    /// A WebSocket server of our own.
    case chat(ChatSection)

    /// The keys, in the order in which messages list them.
    static let keys = ["mqtt", "script", "links", "feed", "chat"]
}
