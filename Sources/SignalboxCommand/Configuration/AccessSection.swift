import SignalboxCore
import SignalboxRoutes

/// One entry of a plugin's `from`, or a part of one.
indirect enum AccessSection: Sendable, Hashable {
    /// A source, or a part of what it brings.
    case origin(SourceName, Part)
    /// One of these must allow.
    case any([AccessSection])
    /// Each of these must allow.
    case all([AccessSection])
    /// This must not allow.
    case not(AccessSection)

    /// What of the source's arrivals is meant.
    enum Part: Sendable, Hashable {
        case all
        case push(PushPart)
        case script(ScriptPart)
        /// Links of an application's own scheme.
        case scheme(String)
        /// Links of `https` and `http` for this host.
        case host(String)
        case chat(ChatPart)
        /// Messages of a feed's server over TLS, or of one without.
        case feed(tls: Bool)
    }

    /// What is asked of a broker's message; all that is given.
    struct PushPart: Sendable, Hashable {
        var topic: TopicFilter?
        var qos: Int?
        var retained: Bool?
    }

    /// What is asked of the page that a message came from; all that is given.
    struct ScriptPart: Sendable, Hashable {
        var origin: WebOrigin?
        /// Whether frames within the page are left out.
        var mainFrame: Bool
    }

    /// What is asked of the client that a message came from; all that is given.
    struct ChatPart: Sendable, Hashable {
        var principal: String?
        var authenticated: Bool?
        var origin: WebOrigin?
    }

    /// Every source that it names, from left to right.
    var sources: [SourceName] {
        switch self {
        case .origin(let source, _): [source]
        case .any(let rules), .all(let rules): rules.flatMap(\.sources)
        case .not(let rule): rule.sources
        }
    }
}
