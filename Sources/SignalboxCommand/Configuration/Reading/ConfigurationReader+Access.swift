import AppScheme
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    /// The maximum nesting depth of `any`, `all` and `not`.
    private static let maximumRuleDepth = 16

    /// Returns the entries of a plugin's `from`.
    func access(_ mapping: YAMLMapping, sources: SourceNames) -> [(rule: AccessSection, value: YAMLValue)] {
        let name = sources.configured.first ?? "NAME"
        let example = "from: [ { source: \(name) } ]"
        let advice = "nothing may call a plugin by default; list the origins that may, such as \(example)"
        guard let list = mapping.required("from", advice)?.list() else { return [] }
        if list.isEmpty {
            mapping.optional("from")?.reportError("'from' is empty: \(advice)", .missingKey, suggestion: example)
        }
        return list.compactMap { value in rule(value, sources, depth: 1).map { ($0, value) } }
    }

    private func rule(_ value: YAMLValue, _ sources: SourceNames, depth: Int) -> AccessSection? {
        guard let mapping = value.mapping(.access) else { return nil }
        let composed = ["any", "all", "not"]
        guard composed.contains(where: { mapping.optional($0) != nil }) else { return origin(mapping, sources) }
        guard depth < ConfigurationReader.maximumRuleDepth else {
            value.reportError("rules can be nested at most \(ConfigurationReader.maximumRuleDepth) deep")
            return nil
        }
        guard let found = mapping.required(oneOf: ["source"] + composed, "") else { return nil }
        for entry in mapping.entries where mapping.known.contains(entry.name) && entry.name != found.key {
            entry.value.reportError("only a rule with 'source' can have '\(entry.name)'; remove it", .conflictingKeys)
        }
        if found.key == "not" { return rule(found.value, sources, depth: depth + 1).map(AccessSection.not) }
        guard let list = found.value.list() else { return nil }
        if list.isEmpty {
            found.value.reportError("'\(found.key)' is empty and allows nothing; list rules", .missingKey)
            return nil
        }
        let rules = list.map { rule($0, sources, depth: depth + 1) }
        guard !rules.contains(where: { $0 == nil }) else { return nil }
        return found.key == "any" ? .any(rules.compactMap { $0 }) : .all(rules.compactMap { $0 })
    }

    private func origin(_ rule: YAMLMapping, _ sources: SourceNames) -> AccessSection? {
        guard let source = source(rule, among: sources), let part = part(rule, of: source.text, sources) else {
            return nil
        }
        return .origin(source, part)
    }

    private func source(_ rule: YAMLMapping, among sources: SourceNames) -> SourceName? {
        guard let value = rule.required("source", "name the source that the rule applies to"), let name = value.text()
        else { return nil }
        guard sources.all.contains(name) else {
            let known = sources.all.joined(separator: ", ")
            let advice = NameSuggestion.advice(for: name, among: sources.all)
            value.reportError(
                "there is no source '\(name.prefix(80))'\(advice); sources are: \(known)",
                .unknownSource,
                suggestion: NameSuggestion.nearest(to: name, among: sources.all)
            )
            return nil
        }
        return try? SourceName(name)
    }

    /// - Returns: `nil` after an error.
    private func part(_ rule: YAMLMapping, of source: String, _ sources: SourceNames) -> AccessSection.Part? {
        for (keys, kinds, message) in ConfigurationReader.partKeys
        where !kinds.contains(where: { sources.mayBe(source, $0) }) {
            for key in keys {
                let text = "the source '\(source)' \(message); remove '\(key)'"
                rule.optional(key)?.reportError(text, .conflictingKeys)
            }
        }
        switch sources.kinds[source] {
        case "links": return link(rule, sources.sources[source]?.links)
        case "chat": return chat(rule, sources.sources[source]?.chat?.server)
        case "feed": return feed(rule)
        default: break
        }
        if ["topic", "qos", "retained"].contains(where: { rule.optional($0) != nil }) { return push(rule) }
        if ["origin", "main_frame"].contains(where: { rule.optional($0) != nil }) { return script(rule) }
        return .all
    }

    /// The source kinds that each key applies to, and the error about other kinds.
    private static let partKeys: [(keys: [String], kinds: [String], message: String)] = [
        (["topic"], ["mqtt"], "has no topics"),
        (["qos", "retained"], ["mqtt"], "is not an MQTT source"),
        (["origin"], ["script", "chat"], "is neither a page nor a chat"),
        (["main_frame"], ["script"], "is not a page"),
        (["principal", "authenticated"], ["chat"], "is not a chat"),
        (["tls"], ["feed"], "is not a feed"),
        (["scheme", "host"], ["links"], "has no links"),
    ]
}

/// The conditions of a rule on one source.
extension ConfigurationReader {
    func push(_ rule: YAMLMapping) -> AccessSection.Part? {
        let topic = rule.optional("topic").map {
            $0.parsed(.badPattern) { try TopicFilter($0) }
        }
        let qos = rule.optional("qos").map { $0.integer(0...1) }
        let retained = rule.optional("retained").map { $0.flag() }
        guard topic != .some(nil), qos != .some(nil), retained != .some(nil) else { return nil }
        return .push(AccessSection.PushPart(topic: topic ?? nil, qos: qos ?? nil, retained: retained ?? nil))
    }

    func script(_ rule: YAMLMapping) -> AccessSection.Part? {
        let origin = rule.optional("origin").map {
            $0.parsed { try WebOrigin($0) }
        }
        let mainFrame = rule.optional("main_frame").map { $0.flag() } ?? true
        guard origin != .some(nil), let mainFrame else { return nil }
        return .script(AccessSection.ScriptPart(origin: origin ?? nil, mainFrame: mainFrame))
    }

    func feed(_ rule: YAMLMapping) -> AccessSection.Part? {
        guard let tls = rule.optional("tls") else { return .all }
        return tls.flag().map { .feed(tls: $0) }
    }

    func chat(_ rule: YAMLMapping, _ server: WebSocketServerConfiguration?) -> AccessSection.Part? {
        let principal = rule.optional("principal").map { self.principal($0, among: server?.principals.map(\.name)) }
        let authenticated = rule.optional("authenticated").map { $0.flag() }
        let origin = rule.optional("origin").map { self.origin($0, among: server?.origins) }
        guard principal != .some(nil), authenticated != .some(nil), origin != .some(nil) else { return nil }
        let part = AccessSection.ChatPart(
            principal: principal ?? nil,
            authenticated: authenticated ?? nil,
            origin: origin ?? nil
        )
        return part == AccessSection.ChatPart() ? .all : .chat(part)
    }

    private func principal(_ value: YAMLValue, among known: [String]?) -> String? {
        guard let name = value.text() else { return nil }
        return listed(name, value, among: known, "there is no principal", "principals are")
    }

    private func origin(_ value: YAMLValue, among known: [WebOrigin]?) -> WebOrigin? {
        let origin = value.parsed { try WebOrigin($0) }
        guard let origin else { return nil }
        let names = known?.map(\.description)
        let found = listed(
            origin.description,
            value,
            among: names,
            "no client can connect with the origin",
            "origins are"
        )
        return found == nil ? nil : origin
    }

    func link(_ rule: YAMLMapping, _ source: LinksSource?) -> AccessSection.Part? {
        switch (rule.optional("scheme"), rule.optional("host")) {
        case (nil, nil): return .all
        case (let scheme?, nil): return self.scheme(scheme, source).map { .scheme($0) }
        case (nil, let host?): return self.host(host, source).map { .host($0) }
        case (_?, let host?):
            host.reportError(
                "'scheme' and 'host' exclude each other; write two rules, because one that allows is enough",
                .conflictingKeys
            )
            return nil
        }
    }

    private func scheme(_ value: YAMLValue, _ source: LinksSource?) -> String? {
        guard let scheme = value.text()?.lowercased() else { return nil }
        guard !LinkFacts.isUniversal(scheme: scheme) else {
            value.reportError(
                "a rule for links of \(scheme) names their host; write host: shop.example instead of 'scheme'"
            )
            return nil
        }
        return listed(
            scheme,
            value,
            among: source?.schemes,
            "no route has the scheme",
            "schemes with routes are"
        )
    }

    private func host(_ value: YAMLValue, _ source: LinksSource?) -> String? {
        guard let text = value.text() else { return nil }
        guard let host = LinkFacts.universalHost(text) else {
            value.reportError("expected only a host, such as shop.example or shop.example:8443")
            return nil
        }
        return listed(
            host,
            value,
            among: source?.hosts,
            "no https or http route has the host",
            "hosts with routes are"
        )
    }

    /// Reports a name that the source never brings: its rule would silently allow nothing.
    private func listed(
        _ name: String,
        _ value: YAMLValue,
        among known: [String]?,
        _ meaning: String,
        _ list: String
    ) -> String? {
        guard let known, !known.contains(name) else { return name }
        let advice = NameSuggestion.advice(for: name, among: known)
        let names = known.isEmpty ? "none" : known.joined(separator: ", ")
        value.reportError(
            "\(meaning) '\(name.prefix(80))'\(advice); \(list): \(names)",
            .emptyRule,
            suggestion: NameSuggestion.nearest(to: name, among: known)
        )
        return nil
    }
}
