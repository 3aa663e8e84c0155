import SignalboxCore
import SignalboxRoutes

extension ConfigurationReader {
    /// The entries of a plugin's `from`.
    func access(_ mapping: YAMLMapping, sources: SourceNames) -> [AccessSection] {
        let name = sources.configured.first ?? "NAME"
        let advice = "nothing may call a plugin by default; say who may, such as from: [ { source: \(name) } ]"
        guard let list = mapping.required("from", advice)?.list() else { return [] }
        if list.isEmpty { mapping.optional("from")?.complain("'from' is empty: \(advice)") }
        return list.compactMap { rule in
            guard let rule = rule.mapping(["source", "topic", "scheme", "host"]) else { return nil }
            guard let source = source(rule, among: sources), let part = part(rule, of: source.text, sources) else {
                return nil
            }
            return AccessSection(source: source, part: part)
        }
    }

    private func source(_ rule: YAMLMapping, among sources: SourceNames) -> SourceName? {
        guard let value = rule.required("source", "a rule begins with the source it is about"), let name = value.text()
        else { return nil }
        guard sources.all.contains(name) else {
            let known = sources.all.joined(separator: ", ")
            let advice = NameSuggestion.advice(for: name, among: sources.all)
            value.complain("there is no source '\(name.prefix(80))'\(advice); sources are: \(known)")
            return nil
        }
        return try? SourceName(name)
    }

    /// - Returns: `nil` after a mistake.
    private func part(_ rule: YAMLMapping, of source: String, _ sources: SourceNames) -> AccessSection.Part? {
        let (topic, scheme, host) = (rule.optional("topic"), rule.optional("scheme"), rule.optional("host"))
        if let topic, !sources.withTopics.contains(source) {
            topic.complain("the source '\(source)' has no topics; leave 'topic' out")
        }
        for (key, value) in [("scheme", scheme), ("host", host)] where !sources.withLinks.contains(source) {
            value?.complain("the source '\(source)' brings no links; leave '\(key)' out")
        }
        let places = sources.linkPlaces[source]
        switch (topic, scheme, host) {
        case (nil, nil, nil): return .all
        case (let topic?, nil, nil):
            return topic.parsed { (text) throws(TopicError) in try TopicFilter(text) }.map { .topic($0) }
        case (nil, let scheme?, nil): return self.scheme(scheme, places).map { .scheme($0) }
        case (nil, nil, let host?): return self.host(host, places).map { .host($0) }
        case (nil, _?, let host?):
            host.complain("'scheme' and 'host' exclude each other; write two rules, as one that allows is enough")
            return nil
        default: return nil
        }
    }

    private func scheme(_ value: YAMLValue, _ places: LinkPlaces?) -> String? {
        guard let scheme = value.text()?.lowercased() else { return nil }
        guard !LinkPlaces.isUniversal(scheme) else {
            value.complain("links of \(scheme) are named by their host; write host: shop.example in place of 'scheme'")
            return nil
        }
        return listed(scheme, value, among: places?.schemes, "of the scheme", "schemes with routes are")
    }

    private func host(_ value: YAMLValue, _ places: LinkPlaces?) -> String? {
        guard let text = value.text() else { return nil }
        guard let host = LinkPlaces.host(text) else {
            value.complain("expected a host alone, such as shop.example, or shop.example:8443")
            return nil
        }
        return listed(host, value, among: places?.hosts, "of https or http with the host", "hosts with routes are")
    }

    /// A rule for links that no route matches would allow nothing, and not say so.
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
        value.complain("no route is for links \(meaning) '\(name.prefix(80))'\(advice); \(list): \(names)")
        return nil
    }
}
