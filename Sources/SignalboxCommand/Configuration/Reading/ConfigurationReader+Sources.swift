import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes

extension ConfigurationReader {
    func sources(_ mapping: YAMLMapping) -> [SourceSection] {
        if mapping.entries.isEmpty { mapping.value.complain("name at least one source below it") }
        return mapping.entries.compactMap { entry in
            let name = sourceName(entry.name, at: entry.key)
            guard let source = entry.value.mapping(SourceKind.keys + ["window"]) else { return nil }
            let window = source.optional("window").map { self.window($0) } ?? WindowLimits()
            let kind = kind(source, of: name)
            guard let name, let kind else { return nil }
            return SourceSection(name: name, kind: kind, window: window)
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
                key.complain("'\(name)' is the source of what 'signalbox send' sends; choose another name")
                return nil
            }
            return source
        } catch {
            key.complain("'\(name.prefix(80))' cannot be the name of a source: \(error)")
            return nil
        }
    }

    private func window(_ value: YAMLValue) -> WindowLimits {
        var window = WindowLimits()
        guard let mapping = value.mapping(["arrivals", "bytes"]) else { return window }
        window.arrivals = mapping.optional("arrivals")?.integer(1...1_000_000) ?? window.arrivals
        window.bytes = mapping.optional("bytes")?.size(1...((1 << 40) - 1)) ?? window.bytes
        return window
    }

    private func mqtt(_ value: YAMLValue) -> MQTTSection? {
        let keys = [
            "broker", "client_id", "clean_start", "session_expiry", "keepalive", "username", "password", "topics",
            "receive_maximum",
        ]
        guard let mapping = value.mapping(keys) else { return nil }
        let broker = mapping.required("broker", "write mqtt://host:port or { env: NAME }").flatMap(broker)
        let client = mapping.required("client_id", "the broker keeps the session under this name").flatMap(client)
        let topics = mapping.required("topics", "list at least one { pattern: … }").flatMap(topics)
        let expiry = mapping.optional("session_expiry")?.duration(.zero...(.seconds(4_294_967_294)))
        let keepalive = mapping.optional("keepalive")?.duration(.zero...(.seconds(65_535)))
        let user = mapping.optional("username").flatMap(text)
        let password = mapping.optional("password").flatMap(secret)
        let clean = mapping.optional("clean_start")?.flag()
        let maximum = mapping.optional("receive_maximum")?.integer(1...65_535)
        guard let broker, let client, let topics else { return nil }
        var section = MQTTSection(broker: broker, clientID: client, username: user, password: password, topics: topics)
        section.cleanStart = clean ?? section.cleanStart
        section.sessionExpiry = expiry ?? section.sessionExpiry
        section.keepalive = keepalive ?? section.keepalive
        section.receiveMaximum = maximum ?? section.receiveMaximum
        return section
    }

    private func topics(_ value: YAMLValue) -> [TopicSection]? {
        guard let list = value.list() else { return nil }
        if list.isEmpty { value.complain("list at least one { pattern: … }") }
        // With a mistake in one of them nothing can be said about all of them.
        let topics = list.map(topic)
        return topics.isEmpty || topics.contains { $0 == nil } ? nil : topics.compactMap { $0 }
    }

    private func topic(_ value: YAMLValue) -> TopicSection? {
        guard let mapping = value.mapping(["pattern", "payload", "action"]) else { return nil }
        let kinds = PayloadKind.allCases.map(\.rawValue)
        let payload = mapping.optional("payload").map { $0.word(of: kinds, meaning: "a kind of payload") } ?? "json"
        let action = mapping.optional("action")?.parsed { (text) throws(NameError) in try ActionName(text) }
        let written = mapping.required("pattern", "such as push/{device}/{action}")
        guard let written, let pattern = written.parsed({ (text) throws(TopicError) in try TopicPattern(text) }),
            let kind = payload.flatMap(PayloadKind.init(rawValue:))
        else { return nil }
        let captures = pattern.captureNames.contains("action")
        if captures, let action = mapping.optional("action") {
            action.complain("the pattern has an {action} already; keep one of the two")
            return nil
        }
        if !captures, mapping.optional("action") == nil, kind != .json {
            value.complain("a \(kind.rawValue) payload names no action; add 'action:', or an {action} to the pattern")
            return nil
        }
        return TopicSection(pattern: pattern, payload: kind, action: action)
    }
}
