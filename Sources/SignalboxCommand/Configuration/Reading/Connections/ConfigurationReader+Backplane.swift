import MQTTPush
import SignalboxCore
import SignalboxRoutes

extension ConfigurationReader {
    /// Returns the backplane of a chat, which is written as a mapping or as the name of its source alone.
    func backplane(_ value: YAMLValue, of chat: SourceName) -> BackplaneSection? {
        locations.backplanes[chat] = value
        let standard = BackplaneSection.standardTopic(of: chat)
        guard value.isMapping else {
            return value.text().flatMap(backplaneSource).map { BackplaneSection(source: $0, topic: standard) }
        }
        return value.mapping("backplane") { keys in
            let source = keys.required("source", "name the MQTT source that publishes the broadcasts")?.text()
            var topic = standard
            keys.read("topic", &topic, backplaneTopic)
            return source.flatMap(backplaneSource).map { BackplaneSection(source: $0, topic: topic) }
        }
    }

    /// Returns the name, or a stand-in for a name that no source can have. ``checkBackplanes(of:_:)`` reports it.
    private func backplaneSource(_ name: String) -> SourceName? {
        (try? SourceName(name)) ?? SourceSection.internalName
    }

    private func backplaneTopic(_ value: YAMLValue) -> String? {
        let topic = value.parsed(.badPattern) { try TopicTemplate($0) }
        guard let topic, let text = value.text() else { return nil }
        guard !text.contains("{") else {
            return value.refused("the actions of all broadcasts have one topic; remove the braces", .badPattern)
        }
        return value.parsed(.badPattern) { try TopicPattern("\($0)/+") }.map { _ in topic.text }
    }

    /// Reports each chat whose backplane names a source that cannot publish, and what two chats may not share.
    func checkBackplanes(of sources: [SourceSection], _ names: SourceNames) {
        var topics: [String: SourceName] = [:]
        for section in sources {
            guard let backplane = section.kind.chat?.backplane, let value = locations.backplanes[section.name] else {
                continue
            }
            checkBackplaneSource(value, names)
            checkReceiver(of: backplane, section.name, value, names)
            if let other = topics.updateValue(section.name, forKey: backplane.topic) {
                let topic = backplane.topic.debugDescription
                value.reportError(
                    "the broadcasts of '\(other)' have the topic \(topic) too; give each chat its own 'topic'",
                    .conflictingKeys
                )
            }
        }
    }

    private func checkBackplaneSource(_ value: YAMLValue, _ names: SourceNames) {
        let written = value.isMapping ? value.anyMapping()?.optional("source") ?? value : value
        let refusal = { (name: String) in
            "the source '\(name)' is not an MQTT source; broadcasts pass through one that has 'publishing'"
        }
        guard let source = target(written, ["mqtt"], names, .conflictingKeys, refusal) else { return }
        guard let push = names.sources[source.text]?.mqtt?.push, push.publishing == nil else { return }
        written.reportError(
            "the source '\(source)' does not publish; add 'publishing: {}' below its 'mqtt'",
            .missingKey,
            advice: "publishing: {}"
        )
    }

    /// Reports a source that receives the broadcasts, if it cannot exist beside the configured ones.
    private func checkReceiver(
        of backplane: BackplaneSection,
        _ chat: SourceName,
        _ value: YAMLValue,
        _ names: SourceNames
    ) {
        guard let receiver = try? BackplaneSection.receiver(of: chat) else {
            value.reportError(
                "the name of a chat with a backplane has at most 54 bytes; choose a shorter one",
                .badName
            )
            return
        }
        if names.configured.contains(receiver.text) {
            value.reportError(
                "the broadcasts of '\(chat)' arrive as the source '\(receiver)', which the configuration has too; rename "
                    + "one of the two",
                .conflictingKeys
            )
        }
        guard let broker = names.sources[backplane.source.text]?.mqtt else { return }
        guard let push = backplane.receiver(for: chat, from: broker, limits: broker.push.limits)?.kind.mqtt?.push else {
            return
        }
        value.check { try push.validate() }
    }
}

extension ConfigurationReader {
    /// Returns the backplanes of the chats that a plugin broadcasts to. A broadcast without `to` may come from any chat.
    func backplanes(of use: PluginUse, _ sources: SourceNames) -> [SourceName: BackplaneSection] {
        var found: [SourceName: BackplaneSection] = [:]
        for part in use.parts {
            guard case .broadcast(let target, _) = part else { continue }
            for name in target.map({ [$0.text] }) ?? sources.configured {
                guard let chat = try? SourceName(name), let backplane = sources.sources[name]?.chat?.backplane else {
                    continue
                }
                found[chat] = backplane
            }
        }
        return found
    }
}
