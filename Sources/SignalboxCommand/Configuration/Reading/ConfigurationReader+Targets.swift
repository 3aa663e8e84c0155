import MQTTPush
import SignalboxCore
import WebSocketChat

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
            keys.optional("reply")?.reportError("an MQTT source has no reply; remove 'reply'", .conflictingKeys)
            return publish(keys, through: "to", sources).map(PluginUse.publish)
        }
        let target = target(written, ["feed", "script", "mqtt"], sources) { name in
            sources.kinds[name] == "chat"
                ? "the source '\(name)' is a chat; send to its connections with 'use: broadcast' and a tag"
                : "nothing can be sent to the source '\(name)'; \(advice)"
        }
        guard let target else { return nil }
        for key in ["topic", "qos", "retain", "properties"] {
            let text = "the source '\(target)' is not an MQTT source; remove '\(key)'"
            keys.optional(key)?.reportError(text, .conflictingKeys)
        }
        return .send(to: target, reply: keys.optional("reply").map { asksServer($0, target, sources) } ?? false)
    }

    /// Returns whether a plugin that sends to the target waits for the reply of a feed's server.
    private func asksServer(_ value: YAMLValue, _ target: SourceName, _ sources: SourceNames) -> Bool {
        guard let asks = value.flag() else { return false }
        if sources.kinds[target.text] == "script" {
            value.reportError("a page always replies; remove 'reply'", .conflictingKeys)
        } else if asks, let feed = sources.sources[target.text]?.feed, feed.frames.text != .envelope(.standard) {
            let text = "the messages of '\(target)' are not standard envelopes, so no answer can be recognized"
            value.reportError("\(text); remove 'reply', or the 'frames' of the feed", .conflictingKeys)
        }
        return asks
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
        let properties = keys.optional("properties").flatMap(messageProperties)
        guard let source, let topic else { return nil }
        if sources.sources[source.text]?.mqtt?.push.version == .v311, let written = keys.optional("properties") {
            written.reportError(
                "the source '\(source)' uses MQTT 3.1.1, which has none; remove 'properties'",
                .conflictingKeys
            )
        }
        var section = PublishSection(source: source, topic: topic, qos: qos, retain: retain)
        section.keyword = key == "to" ? "send" : "publish"
        if let properties { section.properties = properties }
        return section
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
    func target(
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
        guard Action.tagLengths.contains(tag.utf8.count) else {
            return value.refused("a tag has at most \(Action.tagLengths.upperBound) bytes")
        }
        return tag
    }
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
        let needsChat = if case .broadcast(nil, _) = use { true } else { false }
        let needsTags = if case .join = use { true } else if case .leave = use { true } else { false }
        guard needsChat || needsTags else { return }
        let chat = sources.configured.first { sources.kinds[$0] == "chat" } ?? "CHAT"
        for (rule, value) in rules {
            guard let source = sources.withoutConnection(admittedBy: rule) else { continue }
            let correction = rule.names(source) ? "remove this rule" : "name the chat instead, such as from: [\(chat)]"
            let advice =
                needsChat
                ? "name the chat to broadcast to, such as to: \(chat)" : "only a connection has tags; \(correction)"
            value.reportError("messages of '\(source)' come from no connection; \(advice)", .conflictingKeys)
        }
    }
}

extension SourceNames {
    /// Returns a source without connections whose messages the rule may admit.
    ///
    /// A rule that only excludes sources also admits `internal`. This is no mistake if the rule admits a connection, too.
    fileprivate func withoutConnection(admittedBy rule: AccessSection) -> SourceName? {
        let index = AccessIndex([rule])
        let verdicts = { (name: SourceName) in index.rule(on: name).verdicts(on: name) }
        let mentioned = Set(rule.sources)
        let isOther = { (name: SourceName) in !mentioned.contains(name) }
        // The rule decides alike about all sources that it does not mention, except links.
        let others = [connected.first(where: isOther), unconnected.first(where: isOther)].compactMap { $0 }
        let admitted = mentioned.union(others).filter { name in
            (kinds[name.text] == "links" ? verdicts(name).named : verdicts(name).permits) > .never
        }
        let internalName = SourceSection.internalName
        let faulty = admitted.filter { !connected.contains($0) && $0 != internalName }
        if let first = faulty.min(by: { $0.text < $1.text }) { return first }
        let hasConnection = admitted.contains { connected.contains($0) }
        let onInternal = verdicts(internalName)
        return (hasConnection ? onInternal.named : onInternal.permits) > .never ? internalName : nil
    }
}

extension AccessSection {
    /// Returns whether the rule admits messages of the source because it names the source.
    fileprivate func names(_ source: SourceName) -> Bool { verdicts(on: source).named > .never }
}
