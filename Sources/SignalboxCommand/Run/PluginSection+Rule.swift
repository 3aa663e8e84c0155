import AppScheme
import JSBridge
import MQTTPush
import SignalboxCore
import WebSocketChat

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
