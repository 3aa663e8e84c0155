import AppScheme
import HTTPActions
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    /// The maximum nesting depth of `any`, `all` and `not`.
    private static let maximumRuleDepth = 16

    /// Returns the entries in a plugin's `from`.
    func access(_ keys: YAMLMapping, sources: SourceNames) -> [(rule: AccessSection, value: YAMLValue)] {
        let name = sources.configured.first ?? "NAME"
        let example = "from: [\(name)]"
        let advice = "nothing may call a plugin by default; list the origins that may, such as \(example)"
        guard let written = keys.required("from", advice), let list = written.elements(example) else { return [] }
        if list.isEmpty {
            let suggestion = sources.configured.first.map { "[\($0)]" }
            written.reportError("'from' is empty: \(advice)", .missingKey, suggestion: suggestion, advice: example)
        }
        return list.compactMap { value in rule(value, sources, depth: 1).map { ($0, value) } }
    }

    /// - Returns: The rule, or `nil` if there is an error anywhere in it. This way, a rule never allows more than the
    ///   file says.
    private func rule(_ value: YAMLValue, _ sources: SourceNames, depth: Int) -> AccessSection? {
        guard value.characters == nil else { return source(value, among: sources).map { .origin($0, []) } }
        return value.mapping("access") { keys in
            let written = keys.optional("source")
            let conditions = RuleKey.all.compactMap { key in keys.optional(key.name).map { (key: key, value: $0) } }
            let composed = ["any", "all", "not"].compactMap { keys.optional($0) }
            guard !composed.isEmpty else {
                _ = keys.required("source", "name the source that the rule applies to")
                return written.flatMap { source($0, among: sources) }.flatMap { origin($0, conditions, sources) }
            }
            guard depth < ConfigurationReader.maximumRuleDepth else {
                return value.refused("rules can be nested at most \(ConfigurationReader.maximumRuleDepth) deep")
            }
            guard let (key, parts) = keys.required(oneOf: ["source", "any", "all", "not"], "") else { return nil }
            for condition in conditions {
                let name = condition.key.name
                condition.value.reportError(
                    "only a rule with 'source' can have '\(name)'; remove it",
                    .conflictingKeys
                )
            }
            if key == "not" { return rule(parts, sources, depth: depth + 1).map(AccessSection.not) }
            guard let rules = parts.all({ rule($0, sources, depth: depth + 1) }) else { return nil }
            guard !rules.isEmpty else {
                return parts.refused("'\(key)' is empty and allows nothing; list rules", .missingKey)
            }
            return key == "any" ? .any(rules) : .all(rules)
        }
    }

    private func source(_ value: YAMLValue, among sources: SourceNames) -> SourceName? {
        guard let name = value.text() else { return nil }
        guard sources.contains(name) else {
            _ = listed(name, value, among: sources.all, "there is no source", "sources are", .unknownSource)
            return nil
        }
        return try? SourceName(name)
    }

    /// - Returns: The rule, or `nil` if a condition has an error.
    private func origin(
        _ source: SourceName,
        _ written: [(key: RuleKey, value: YAMLValue)],
        _ sources: SourceNames
    ) -> AccessSection? {
        let name = source.text
        var conditions: [String: YAMLValue] = [:]
        for (key, value) in written {
            if key.kinds.contains(where: { sources.mayBe(name, $0) }) {
                conditions[key.name] = value
            } else {
                let text = "the source '\(name)' \(key.refusal); remove '\(key.name)'"
                value.reportError(text, .conflictingKeys)
            }
        }
        if conditions["scheme"] != nil, let host = conditions["host"] {
            return host.refused(
                "'scheme' and 'host' exclude each other; write two rules, because one that allows is enough",
                .conflictingKeys
            )
        }
        let isPage =
            !["chat", "http"].contains(sources.kinds[name]) && (conditions["origin"] ?? conditions["main_frame"]) != nil
        if isPage { return page(conditions).map { .origin(source, [$0]) } }
        let keys = RuleKey.all.map(\.name).filter { conditions[$0] != nil }
        let found = keys.compactMap { key in
            conditions[key].flatMap { condition(key, $0, of: sources.sources[name]) }
        }
        return found.count == keys.count ? .origin(source, found) : nil
    }

    private func page(_ conditions: [String: YAMLValue]) -> AccessSection.Condition? {
        let origin = conditions["origin"].map { $0.parsed { try WebOrigin($0) } }
        let mainFrame = conditions["main_frame"].map { $0.flag() } ?? true
        guard origin != .some(nil), let mainFrame else { return nil }
        conditions["origin"]?.warn(
            "a page of 'script' has no document, so none of its messages has an origin in 'run'; only the pages of 'bridge' with "
                + "'--engine webkitgtk' or 'browser' have one",
            .originOfScripts,
            advice: "remove 'origin', unless only 'bridge' reads this file"
        )
        return .page(origin ?? nil, mainFrame: mainFrame)
    }
}

/// Reads the conditions of a rule about one source.
extension ConfigurationReader {
    /// - Parameter source: The source, or `nil` if it has errors.
    private func condition(_ key: String, _ value: YAMLValue, of source: SourceKind?) -> AccessSection.Condition? {
        switch key {
        case "topic": value.parsed(.badPattern) { try TopicFilter($0) }.map { .topic($0) }
        case "qos": value.integer(0...1).map { .qos($0) }
        case "retained": value.flag().map { .retained($0) }
        case "principal": principal(value, source)
        case "authenticated": value.flag().map { source?.http == nil ? .authenticated($0) : .senderIsAuthenticated($0) }
        case "origin": client(value, source)
        case "tls": value.flag().map { .tls($0) }
        case "scheme": scheme(value, source?.links)
        case "host": host(value, source?.links)
        default: nil
        }
    }

    private func principal(_ value: YAMLValue, _ source: SourceKind?) -> AccessSection.Condition? {
        let known = source?.http?.principals ?? source?.chat?.server.principals.map(\.name)
        return value.text().flatMap { listed($0, value, among: known, "there is no principal", "principals are") }
            .map { source?.http == nil ? .principal($0) : .sender($0) }
    }

    private func client(_ value: YAMLValue, _ source: SourceKind?) -> AccessSection.Condition? {
        let origin = value.parsed { try WebOrigin($0) }
        guard let origin else { return nil }
        let known = (source?.http?.server.origins ?? source?.chat?.server.origins)?.map(\.description)
        let meaning = "no client can connect with the origin"
        return listed(origin.description, value, among: known, meaning, "origins are").map { _ in
            source?.http == nil ? .client(origin) : .senderOrigin(origin)
        }
    }

    private func scheme(_ value: YAMLValue, _ links: LinksSource?) -> AccessSection.Condition? {
        guard let scheme = value.text()?.lowercased() else { return nil }
        guard !LinkFacts.isUniversal(scheme: scheme) else {
            return value.refused(
                "a rule for links of \(scheme) names their host; write host: shop.example instead of 'scheme'"
            )
        }
        return listed(scheme, value, among: links?.schemes, "no route has the scheme", "schemes with routes are")
            .map { .scheme($0) }
    }

    private func host(_ value: YAMLValue, _ links: LinksSource?) -> AccessSection.Condition? {
        guard let text = value.text() else { return nil }
        guard let host = LinkFacts.universalHost(text) else {
            return value.refused("expected only a host, such as shop.example or shop.example:8443")
        }
        let meaning = "no https or http route has the host"
        return listed(host, value, among: links?.hosts, meaning, "hosts with routes are").map { .host($0) }
    }

    /// Reports a name that messages from the source never have. A rule with such a name would silently allow nothing.
    private func listed(
        _ name: String,
        _ value: YAMLValue,
        among known: [String]?,
        _ meaning: String,
        _ list: String,
        _ code: ProblemCode = .emptyRule
    ) -> String? {
        guard let known, !known.contains(name) else { return name }
        let names = known.isEmpty ? "none" : known.joined(separator: ", ")
        return value.refused(name, among: known, code) { "\(meaning) '\(name.prefix(80))'\($0); \(list): \(names)" }
    }
}

/// A key that a rule with the key `source` may contain.
private struct RuleKey {
    let name: String
    /// The kinds of source that the key applies to.
    let kinds: [String]
    /// The end of the error message if the key does not apply to the source. It follows the source's name.
    let refusal: String

    /// All keys, in the order in which the description of a rule lists its conditions.
    static let all = [
        RuleKey(name: "topic", kinds: ["mqtt"], refusal: "has no topics"),
        RuleKey(name: "qos", kinds: ["mqtt"], refusal: "is not an MQTT source"),
        RuleKey(name: "retained", kinds: ["mqtt"], refusal: "is not an MQTT source"),
        RuleKey(name: "principal", kinds: ["chat", "http"], refusal: "has no principals"),
        RuleKey(name: "authenticated", kinds: ["chat", "http"], refusal: "has no principals"),
        RuleKey(name: "origin", kinds: ["script", "chat", "http"], refusal: "has no origins"),
        RuleKey(name: "main_frame", kinds: ["script"], refusal: "is not a page"),
        RuleKey(name: "tls", kinds: ["feed"], refusal: "is not a feed"),
        RuleKey(name: "scheme", kinds: ["links"], refusal: "has no links"),
        RuleKey(name: "host", kinds: ["links"], refusal: "has no links"),
    ]
}
