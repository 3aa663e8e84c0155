import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// What a broker's source has beside its first connection, and the plugin that publishes.
extension ConfigurationReader {
    func brokerAdditions(_ mapping: YAMLMapping) -> (
        announcesConnections: Bool, connections: [ConnectionSection], publishing: PublishingSection?
    ) {
        (
            mapping.optional("announce_connections")?.flag() ?? false,
            mapping.optional("connections")?.list()?.compactMap(connection) ?? [],
            mapping.optional("publishing").flatMap(publishing)
        )
    }

    /// What `use: publish` is told.
    func publish(_ mapping: YAMLMapping, sources: SourceNames) -> PublishSection? {
        let source = mapping.required("source", "say which source has the broker").flatMap { publisher($0, sources) }
        let topic = mapping.required("topic", "say where to, such as topic: out/{action}/{id}")?
            .parsed(.badPattern) { (text) throws(TopicTemplateError) in try TopicTemplate(text) }
        let quality = quality(mapping) ?? .atLeastOnce
        let retain = mapping.optional("retain")?.flag() ?? false
        guard let source, let topic else { return nil }
        return PublishSection(source: source, topic: topic, quality: quality, retain: retain)
    }

    private func connection(_ value: YAMLValue) -> ConnectionSection? {
        guard let mapping = value.mapping(.connection) else { return nil }
        let name = mapping.required("name", "the client id of the connection ends with it")?.text()
        let topics = mapping.required("topics", "list at least one { pattern: … }").flatMap(topics)
        guard let name, let topics else { return nil }
        return ConnectionSection(name: name, topics: topics)
    }

    private func publishing(_ value: YAMLValue) -> PublishingSection? {
        guard let mapping = value.mapping(.publishing) else { return nil }
        var section = PublishingSection()
        section.clientID = mapping.optional("client_id").flatMap(client)
        section.queuedMessages = mapping.optional("queued_messages")?.integer(1...1_000_000)
        section.queuedBytes = mapping.optional("queued_bytes")?.size((1 << 10)...(1 << 30))
        mapping.read("reply_topics", into: &section.replyTopics, filters)
        section.waitingReplies = mapping.optional("waiting_replies")?.integer(1...1_000_000)
        section.sendTopic =
            mapping.optional("send_topic")?
            .parsed(.badPattern) { (text) throws(TopicTemplateError) in try TopicTemplate(text) }?.text
        section.publishTimeout = mapping.optional("publish_timeout")?.duration(.milliseconds(10)...(.seconds(3_600)))
        section.stopTimeout = mapping.optional("stop_timeout")?.duration(.zero...(.seconds(3_600)))
        return section
    }

    private func filters(_ value: YAMLValue) -> [TopicFilter]? {
        value.list()?.compactMap { $0.parsed(.badPattern) { (text) throws(TopicError) in try TopicFilter(text) } }
    }

    /// The name of a source that can publish.
    private func publisher(_ value: YAMLValue, _ sources: SourceNames) -> SourceName? {
        guard let name = value.text() else { return nil }
        guard sources.configured.contains(name) else {
            let known = sources.configured
            value.complain(
                "there is no source '\(name.prefix(64))'\(NameSuggestion.advice(for: name, among: known))",
                .unknownSource,
                suggestion: NameSuggestion.nearest(to: name, among: known)
            )
            return nil
        }
        guard sources.mayBe(name, "mqtt"), sources.brokers[name]?.publishing != nil || sources.brokers[name] == nil
        else {
            value.complain(
                "the source '\(name)' does not publish; write 'publishing: {}' below its 'mqtt'",
                .missingKey
            )
            return nil
        }
        return try? SourceName(name)
    }
}
