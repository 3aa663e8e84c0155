import AppScheme
import HTTPActions
import JSBridge
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// An entry in a plugin's `from`, or a part of such an entry.
indirect enum AccessSection: Sendable, Hashable {
    /// Allows arrivals from the source that meet every condition.
    case origin(SourceName, [Condition])
    /// Allows an arrival if at least one of the rules allows it.
    case any([AccessSection])
    /// Allows an arrival if every rule allows it.
    case all([AccessSection])
    /// Allows an arrival if the rule does not.
    case not(AccessSection)

    /// A condition on arrivals from one source.
    enum Condition: Sendable, Hashable {
        // Conditions on a message from a broker.
        case topic(TopicFilter)
        case qos(Int)
        case retained(Bool)
        /// The origin of the document that sent a page's message, and whether messages from subframes are excluded.
        case page(WebOrigin?, mainFrame: Bool)
        // Conditions on the client that sent a message to a chat.
        case principal(String)
        case authenticated(Bool)
        case client(WebOrigin)
        // Conditions on the client that sent an HTTP request.
        case sender(String)
        case senderIsAuthenticated(Bool)
        case senderOrigin(WebOrigin)
        /// Whether a feed's connection uses TLS.
        case tls(Bool)
        /// A link's application scheme.
        case scheme(String)
        /// The host of an `https` or `http` link.
        case host(String)
    }

    /// The sources that the rule mentions, from left to right.
    var sources: [SourceName] {
        switch self {
        case .origin(let source, _): [source]
        case .any(let rules), .all(let rules): rules.flatMap(\.sources)
        case .not(let rule): rule.sources
        }
    }

    /// The only sources that the rule can admit, or `nil` if it can admit any source.
    var admissible: Set<SourceName>? {
        switch self {
        case .origin(let source, _): return [source]
        case .any(let rules):
            let sources = rules.map(\.admissible)
            return sources.contains(nil) ? nil : sources.reduce(into: []) { $0.formUnion($1 ?? []) }
        case .all(let rules): return rules.isEmpty ? [] : rules.lazy.compactMap(\.admissible).first
        case .not: return nil
        }
    }

    /// Rules that together allow what this one does if it is enough that one of them does.
    fileprivate var alternatives: [AccessSection] {
        if case .any(let rules) = self { rules.flatMap(\.alternatives) } else { [self] }
    }
}

/// Rules of which one must allow an arrival, by the sources that they can admit, so that a long list of sources is not
/// searched for each of them.
struct AccessIndex {
    /// The key `nil` has the rules that can admit any source.
    private let rules: [SourceName?: [AccessSection]]

    init(_ sections: [AccessSection]) {
        var rules: [SourceName?: [AccessSection]] = [:]
        for rule in sections.flatMap(\.alternatives) {
            let sources: [SourceName?] = rule.admissible.map(Array.init) ?? [nil]
            for source in sources { rules[source, default: []].append(rule) }
        }
        self.rules = rules
    }

    /// The only sources that the rules can admit, or `nil` if they can admit any source.
    var admissible: Set<SourceName>? { rules[nil] == nil ? Set(rules.keys.compactMap { $0 }) : nil }

    /// Returns a rule that decides about arrivals from the source as all rules together do.
    func rule(on source: SourceName) -> AccessSection { .any([source, nil].flatMap { rules[$0] ?? [] }) }
}

extension PluginSection {
    /// Decides who may call the plugin. At least one entry in `from` must allow the call.
    var rule: AccessRule { .any(from.map(\.rule)) }
}

extension AccessSection {
    var rule: AccessRule {
        switch self {
        case .origin(let source, let conditions):
            switch conditions.count {
            case 0: .source(source)
            case 1: conditions[0].rule(of: source)
            default: .all(conditions.map { $0.rule(of: source) })
            }
        case .any(let rules): .any(rules.map(\.rule))
        case .all(let rules): .all(rules.map(\.rule))
        case .not(let rule): .not(rule.rule)
        }
    }
}

extension AccessSection.Condition {
    func rule(of source: SourceName) -> AccessRule {
        switch self {
        case .topic(let topic): .topic(topic, source: source)
        case .qos(let qos): .push(qos: qos, source: source)
        case .retained(let retained): .push(retained: retained, source: source)
        case .page(let origin?, let mainFrame): .script(origin: origin, mainFrameOnly: mainFrame, source: source)
        case .page(nil, let mainFrame): mainFrame ? .script(source: source) : .source(source)
        case .principal(let principal): .chat(principal: principal, source: source)
        case .authenticated(let authenticated): .chat(authenticated: authenticated, source: source)
        case .client(let origin): .chat(origin: origin, source: source)
        case .sender(let principal): .http(principal: principal, source: source)
        case .senderIsAuthenticated(let authenticated): .http(authenticated: authenticated, source: source)
        case .senderOrigin(let origin): .http(origin: origin, source: source)
        case .tls(let tls): .feed(tls: tls, source: source)
        case .scheme(let scheme): .link(scheme: scheme, source: source)
        case .host(let host): .universalLink(host: host, source: source)
        }
    }
}
