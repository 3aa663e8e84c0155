import SignalboxCore

extension ConfigurationReader {
    /// How deep `any`, `all` and `not` may stand in each other.
    private static let deepestRule = 16

    /// The entries of a plugin's `from`.
    func access(_ mapping: YAMLMapping, sources: SourceNames) -> [(rule: AccessSection, value: YAMLValue)] {
        let name = sources.configured.first ?? "NAME"
        let example = "from: [ { source: \(name) } ]"
        let advice = "nothing may call a plugin by default; say who may, such as \(example)"
        guard let list = mapping.required("from", advice)?.list() else { return [] }
        if list.isEmpty {
            mapping.optional("from")?.complain("'from' is empty: \(advice)", .missingKey, suggestion: example)
        }
        return list.compactMap { value in rule(value, sources, depth: 1).map { ($0, value) } }
    }

    private func rule(_ value: YAMLValue, _ sources: SourceNames, depth: Int) -> AccessSection? {
        guard let mapping = value.mapping(.access) else { return nil }
        let composed = ["any", "all", "not"]
        guard composed.contains(where: { mapping.optional($0) != nil }) else { return origin(mapping, sources) }
        guard depth < ConfigurationReader.deepestRule else {
            value.complain("rules stand in each other at most \(ConfigurationReader.deepestRule) deep")
            return nil
        }
        guard let found = mapping.required(oneOf: ["source"] + composed, "") else { return nil }
        for entry in mapping.entries where mapping.known.contains(entry.name) && entry.name != found.key {
            entry.value.complain("only a rule with 'source' has '\(entry.name)'; leave it out", .conflictingKeys)
        }
        if found.key == "not" { return rule(found.value, sources, depth: depth + 1).map(AccessSection.not) }
        guard let list = found.value.list() else { return nil }
        if list.isEmpty {
            found.value.complain("'\(found.key)' is empty, and so allows nothing; list rules", .missingKey)
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
        guard let value = rule.required("source", "a rule begins with the source it is about"), let name = value.text()
        else { return nil }
        guard sources.all.contains(name) else {
            let known = sources.all.joined(separator: ", ")
            let advice = NameSuggestion.advice(for: name, among: sources.all)
            value.complain(
                "there is no source '\(name.prefix(80))'\(advice); sources are: \(known)",
                .unknownSource,
                suggestion: NameSuggestion.nearest(to: name, among: sources.all)
            )
            return nil
        }
        return try? SourceName(name)
    }

    /// - Returns: `nil` after a mistake.
    private func part(_ rule: YAMLMapping, of source: String, _ sources: SourceNames) -> AccessSection.Part? {
        for (keys, kinds, fault) in ConfigurationReader.partKeys
        where !kinds.contains(where: { sources.mayBe(source, $0) }) {
            for key in keys {
                let words = "the source '\(source)' \(fault); leave '\(key)' out"
                rule.optional(key)?.complain(words, .conflictingKeys)
            }
        }
        switch sources.kinds[source] {
        case "links": return link(rule, sources.linkPlaces[source])
        case "chat": return chat(rule, sources.chats[source])
        case "feed": return feed(rule)
        default: break
        }
        if ["topic", "qos", "retained"].contains(where: { rule.optional($0) != nil }) { return push(rule) }
        if ["origin", "main_frame"].contains(where: { rule.optional($0) != nil }) { return script(rule) }
        return .all
    }

    /// Which kinds of source a key is for, and what the others are not.
    private static let partKeys: [(keys: [String], kinds: [String], fault: String)] = [
        (["topic"], ["mqtt"], "has no topics"),
        (["qos", "retained"], ["mqtt"], "is no broker's"),
        (["origin"], ["script", "chat"], "is no page and no chat"),
        (["main_frame"], ["script"], "is no page"),
        (["principal", "authenticated"], ["chat"], "is no chat"),
        (["tls"], ["feed"], "is no feed"),
        (["scheme", "host"], ["links"], "brings no links"),
    ]
}
