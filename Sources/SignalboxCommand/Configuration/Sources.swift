import Signalbox
import SignalboxCore

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

extension SourceKind {
    var mqtt: MQTTSection? { if case .mqtt(let mqtt) = self { mqtt } else { nil } }
    var script: ScriptSection? { if case .script(let script) = self { script } else { nil } }
    var links: LinksSection? { if case .links(let links) = self { links } else { nil } }
    var feed: FeedSection? { if case .feed(let feed) = self { feed } else { nil } }
    var chat: ChatSection? { if case .chat(let chat) = self { chat } else { nil } }
}
