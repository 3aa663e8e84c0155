import AppScheme
import JSBridge
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// An entry of a plugin's `from`, or a part of one.
indirect enum AccessSection: Sendable, Hashable {
    /// A source, or a subset of its arrivals.
    case origin(SourceName, Part)
    /// At least one of the rules must allow.
    case any([AccessSection])
    /// All of the rules must allow.
    case all([AccessSection])
    /// The rule must not allow.
    case not(AccessSection)

    /// The arrivals of the source that a rule matches.
    enum Part: Sendable, Hashable {
        case all
        case push(PushPart)
        case script(ScriptPart)
        /// Links with an application scheme.
        case scheme(String)
        /// `https` and `http` links to this host.
        case host(String)
        case chat(ChatPart)
        /// Messages of a feed whose connection uses TLS, or of one without TLS.
        case feed(tls: Bool)
    }

    /// Conditions on a broker's message. All conditions that are not `nil` must hold.
    struct PushPart: Sendable, Hashable {
        var topic: TopicFilter?
        var qos: Int?
        var retained: Bool?
    }

    /// Conditions on the page that sent a message. All conditions that are given must hold.
    struct ScriptPart: Sendable, Hashable {
        var origin: WebOrigin?
        /// Whether messages from subframes are excluded.
        var mainFrame: Bool
    }

    /// Conditions on the client that sent a message. All conditions that are not `nil` must hold.
    struct ChatPart: Sendable, Hashable {
        var principal: String?
        var authenticated: Bool?
        var origin: WebOrigin?
    }

    /// The sources that the rule names, from left to right.
    var sources: [SourceName] {
        switch self {
        case .origin(let source, _): [source]
        case .any(let rules), .all(let rules): rules.flatMap(\.sources)
        case .not(let rule): rule.sources
        }
    }
}

extension PluginSection {
    /// The rule that decides who may call the plugin: at least one entry of `from` must allow.
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
