import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

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
        let kinds = entries.compactMap { entry -> (String, String)? in
            let found = SourceKind.keys.filter(entry.value.isMapping(with:))
            return found.count == 1 ? (entry.name, found[0]) : nil
        }
        let places = read.compactMap { source -> (String, LinkPlaces)? in
            guard case .links(let section) = source.kind else { return nil }
            return (source.name.text, section.places)
        }
        let chats = read.compactMap { source -> (String, ChatSection)? in
            guard case .chat(let section) = source.kind else { return nil }
            return (source.name.text, section)
        }
        let brokers = read.compactMap { source -> (String, MQTTSection)? in
            guard case .mqtt(let section) = source.kind else { return nil }
            return (source.name.text, section)
        }
        return SourceNames(
            configured: entries.map(\.name),
            kinds: Dictionary(kinds) { first, _ in first },
            linkPlaces: Dictionary(places) { first, _ in first },
            chats: Dictionary(chats) { first, _ in first },
            brokers: Dictionary(brokers) { first, _ in first }
        )
    }

    private func kind(_ source: YAMLMapping, of name: SourceName?) -> SourceKind? {
        let advice = "say which broker and topics, which scripts, which links, or which WebSocket"
        guard let found = source.required(oneOf: SourceKind.keys, advice) else { return nil }
        switch found.key {
        case "script": return script(found.value).map(SourceKind.script)
        case "links": return links(found.value).map(SourceKind.links)
        case "feed":
            guard let section = feed(found.value), let name else { return nil }
            validate(at: found.value) { () throws(WebSocketChatError) in try section.validate(as: name) }
            return .feed(section)
        case "chat":
            guard let section = chat(found.value), let name else { return nil }
            // A server that nobody can reach was told of already.
            if section.isReachable {
                validate(at: found.value) { () throws(WebSocketChatError) in try section.validate(as: name) }
            }
            return .chat(section)
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
