import AppScheme
import JSBridge
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

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

extension PluginSection {
    /// Who may call the plugin: one of the entries of `from` must allow it.
    var rule: AccessRule { .any(from.map(\.rule)) }
}

extension AccessSection {
    fileprivate var rule: AccessRule {
        switch self {
        case .origin(let source, let part): part.rule(of: source)
        case .any(let rules): .any(rules.map(\.rule))
        case .all(let rules): .all(rules.map(\.rule))
        case .not(let rule): .not(rule.rule)
        }
    }
}

extension AccessSection.Part {
    fileprivate func rule(of source: SourceName) -> AccessRule {
        switch self {
        case .all: .source(source)
        case .push(let push): push.rule(of: source)
        case .script(let script): script.rule(of: source)
        case .scheme(let scheme): .link(scheme: scheme, source: source)
        case .host(let host): .universalLink(host: host, source: source)
        case .chat(let chat): chat.rule(of: source)
        case .feed(let tls): .feed(tls: tls, source: source)
        }
    }
}

extension AccessSection.PushPart {
    fileprivate func rule(of source: SourceName) -> AccessRule {
        var rules: [AccessRule] = []
        if let topic { rules.append(.topic(topic, source: source)) }
        if let qos { rules.append(.push(qos: qos, source: source)) }
        if let retained { rules.append(.push(retained: retained, source: source)) }
        return rules.count == 1 ? rules[0] : .all(rules)
    }
}

extension AccessSection.ChatPart {
    fileprivate func rule(of source: SourceName) -> AccessRule {
        var rules: [AccessRule] = []
        if let principal { rules.append(.chat(principal: principal, source: source)) }
        if let authenticated { rules.append(.chat(authenticated: authenticated, source: source)) }
        if let origin { rules.append(.chat(origin: origin, source: source)) }
        return rules.count == 1 ? rules[0] : .all(rules)
    }
}

extension AccessSection.ScriptPart {
    fileprivate func rule(of source: SourceName) -> AccessRule {
        if let origin { return .script(origin: origin, mainFrameOnly: mainFrame, source: source) }
        return mainFrame ? .script(source: source) : .source(source)
    }
}
