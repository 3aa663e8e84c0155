import MQTTPush
import SignalboxCore

/// Reads the settings of the plugins that send: to connections with a tag, or to another source.
extension ConfigurationReader {
    /// Returns the plugin `broadcast`.
    func broadcast(_ keys: YAMLMapping, _ sources: SourceNames) -> PluginUse? {
        let tag = tag(keys)
        guard let written = keys.optional("to") else { return tag.map { .broadcast(tag: $0) } }
        let target = target(written, ["chat"], sources) { name in
            "the source '\(name)' is not a chat; 'use: broadcast' sends to the connections of a chat, and 'use: send' to a "
                + "feed, a page or an MQTT source"
        }
        guard let target, let tag else { return nil }
        return .broadcast(to: target, tag: tag)
    }

    /// Returns the plugin `send`. To an MQTT source, it is the same plugin as `publish`.
    func send(_ keys: YAMLMapping, _ sources: SourceNames) -> PluginUse? {
        let advice = "name the source to send to: a feed, a page or an MQTT source"
        guard let written = keys.required("to", advice) else { return nil }
        guard written.text().flatMap({ sources.kinds[$0] }) != "mqtt" else {
            return publish(keys, through: "to", sources).map(PluginUse.publish)
        }
        let target = target(written, ["feed", "script", "mqtt"], sources) { name in
            sources.kinds[name] == "chat"
                ? "the source '\(name)' is a chat; send to its connections with 'use: broadcast' and a tag"
                : "nothing can be sent to the source '\(name)'; \(advice)"
        }
        guard let target else { return nil }
        for key in ["topic", "qos", "retain"] {
            let text = "the source '\(target)' is not an MQTT source; remove '\(key)'"
            keys.optional(key)?.reportError(text, .conflictingKeys)
        }
        return .send(to: target)
    }

    /// Returns the settings for a plugin that publishes.
    ///
    /// - Parameter key: The key that names the source.
    func publish(_ keys: YAMLMapping, through key: String, _ sources: SourceNames) -> PublishSection? {
        let source = keys.required(key, "name the source that publishes").flatMap { publisher($0, sources) }
        let topic = keys.required("topic", "name the topic, such as topic: out/{action}/{id}")?
            .parsed(.badPattern) { try TopicTemplate($0) }
        let qos = keys.optional("qos").flatMap(qos) ?? .atLeastOnce
        let retain = keys.optional("retain")?.flag() ?? false
        guard let source, let topic else { return nil }
        return PublishSection(source: source, topic: topic, qos: qos, retain: retain)
    }

    /// Returns the name of a source that can publish.
    private func publisher(_ value: YAMLValue, _ sources: SourceNames) -> SourceName? {
        let refusal = { (name: String) in
            "the source '\(name)' does not publish; add 'publishing: {}' below its 'mqtt'"
        }
        guard let source = target(value, ["mqtt"], sources, .missingKey, refusal) else { return nil }
        if let push = sources.sources[source.text]?.mqtt?.push, push.publishing == nil {
            return value.refused(refusal(source.text), .missingKey)
        }
        return source
    }

    /// Returns the name of a configured source that a plugin sends to.
    ///
    /// - Parameters:
    ///   - kinds: The kinds of source that the plugin can send to.
    ///   - refusal: Returns the error message about a source of another kind, from the source's name.
    private func target(
        _ value: YAMLValue,
        _ kinds: [String],
        _ sources: SourceNames,
        _ code: ProblemCode = .conflictingKeys,
        _ refusal: (String) -> String
    ) -> SourceName? {
        guard let name = value.text() else { return nil }
        guard sources.configured.contains(name) else {
            return value.refused(name, among: sources.configured, .unknownSource) {
                "there is no source '\(name.prefix(64))'\($0)"
            }
        }
        guard kinds.contains(where: { sources.mayBe(name, $0) }) else { return value.refused(refusal(name), code) }
        return try? SourceName(name)
    }

    /// - Returns: The tag, `.some(nil)` if the action's body names the tag, or `nil` if there is an error.
    func tag(_ keys: YAMLMapping) -> String?? {
        guard let value = keys.optional("tag") else { return .some(nil) }
        guard let tag = value.text() else { return nil }
        guard tag.utf8.count <= ConfigurationReader.maximumTagLength else {
            return value.refused("a tag has at most \(ConfigurationReader.maximumTagLength) bytes")
        }
        return tag
    }

    /// The maximum length of a tag, in bytes.
    private static let maximumTagLength = 128
}

extension ConfigurationReader {
    /// Reports a rule that admits a source without connections, if the plugin needs the connection that the action came
    /// from. Every such message would be rejected.
    func checkConnections(
        _ use: PluginUse,
        _ rules: [(rule: AccessSection, value: YAMLValue)],
        _ keys: YAMLMapping,
        _ sources: SourceNames
    ) {
        let advice: String
        switch use {
        case .broadcast(nil, _):
            let chat = sources.configured.first { sources.kinds[$0] == "chat" } ?? "CHAT"
            advice = "name the chat to broadcast to, such as to: \(chat)"
        case .join, .leave: advice = "only a connection has tags; remove this rule"
        default: return
        }
        for (rule, value) in rules {
            let unconnected = rule.admittedSources.first { source in
                !["chat", "feed"].contains { sources.mayBe(source.text, $0) }
            }
            guard let unconnected else { continue }
            value.reportError("messages of '\(unconnected)' come from no connection; \(advice)", .conflictingKeys)
        }
    }
}

extension AccessSection {
    /// The sources that the rule may admit, without those that it only excludes.
    fileprivate var admittedSources: [SourceName] {
        switch self {
        case .origin(let source, _): [source]
        case .any(let rules), .all(let rules): rules.flatMap(\.admittedSources)
        case .not: []
        }
    }
}
