import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes

extension ConfigurationReader {
    func sources(_ mapping: YAMLMapping) -> [SourceSection] {
        if mapping.entries.isEmpty { mapping.value.complain("name at least one source below it") }
        return mapping.entries.compactMap { entry in
            let name = sourceName(entry.name, at: entry.key)
            guard let source = entry.value.mapping(.source) else { return nil }
            let window = source.optional("window").map { self.window($0) } ?? WindowLimits()
            let rateLimit = source.optional("rate_limit").flatMap { self.rateLimit($0) }
            let repeats = source.optional("repeats").map { self.repeats($0) } ?? .automatic
            let kind = kind(source, of: name)
            guard let name, let kind else { return nil }
            places.sources[name] = entry.key
            return SourceSection(name: name, kind: kind, window: window, rateLimit: rateLimit, repeats: repeats)
        }
    }

    /// The names below `sources`, also of sources with mistakes.
    ///
    /// - Parameter read: those of the sources that are right.
    func names(_ mapping: YAMLMapping?, _ read: [SourceSection]) -> SourceNames {
        let entries = mapping?.entries ?? []
        let kinds = SourceKind.keys.map { key in Set(entries.filter { $0.value.isMapping(with: key) }.map(\.name)) }
        let names = entries.map(\.name)
        let places = read.compactMap { source -> (String, LinkPlaces)? in
            guard case .links(let section) = source.kind else { return nil }
            return (source.name.text, section.places)
        }
        return SourceNames(
            configured: names,
            withTopics: Set(names).subtracting(kinds[1]).subtracting(kinds[2]),
            withPages: Set(names).subtracting(kinds[0]).subtracting(kinds[2]),
            withLinks: kinds[2],
            linkPlaces: Dictionary(places) { first, _ in first }
        )
    }

    private func kind(_ source: YAMLMapping, of name: SourceName?) -> SourceKind? {
        let advice = "say which broker and topics, which scripts, or which links"
        guard let found = source.required(oneOf: SourceKind.keys, advice) else { return nil }
        switch found.key {
        case "script": return script(found.value).map(SourceKind.script)
        case "links": return links(found.value).map(SourceKind.links)
        default:
            guard let section = mqtt(found.value), let name else { return nil }
            validate(section, of: name, at: found.value)
            return .mqtt(section)
        }
    }

    /// What the adapter alone knows about values that do not go together.
    private func validate(_ section: MQTTSection, of name: SourceName, at value: YAMLValue) {
        do throws(MQTTPushError) {
            try section.push(from: name, limits: MessageLimits()).validate()
        } catch {
            value.complain(error.detail)
        }
    }

    private func sourceName(_ name: String, at key: YAMLValue) -> SourceName? {
        do {
            let source = try SourceName(name)
            guard source != SourceSection.internalName else {
                key.complain("'\(name)' is the source of what 'signalbox send' sends; choose another name", .badName)
                return nil
            }
            return source
        } catch {
            key.complain("'\(name.prefix(80))' cannot be the name of a source: \(error)", .badName)
            return nil
        }
    }
}
