import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    func mqtt(_ value: YAMLValue) -> MQTTSection? {
        guard let mapping = value.mapping(.mqtt) else { return nil }
        let broker = mapping.required("broker", "write mqtt://host:port or { env: NAME }").flatMap(broker)
        let client = mapping.required("client_id", "the broker keeps the session under this name").flatMap(client)
        let topics = mapping.required("topics", "list at least one { pattern: … }").flatMap(topics)
        let expiry = mapping.optional("session_expiry")?.duration(.zero...(.seconds(4_294_967_294)))
        let keepalive = mapping.optional("keepalive")?.duration(.zero...(.seconds(65_535)))
        let user = mapping.optional("username").flatMap(text)
        let password = mapping.optional("password").flatMap { secret($0, "a password") }
        let clean = mapping.optional("clean_start")?.flag()
        let maximum = mapping.optional("receive_maximum")?.integer(1...65_535)
        let queue = mapping.optional("broker_queue")?.integer(0...1_000_000_000)
        let settings = connectionSettings(mapping, of: broker)
        let more = brokerAdditions(mapping)
        guard let broker, let client, let topics else { return nil }
        var section = MQTTSection(broker: broker, clientID: client, username: user, password: password, topics: topics)
        section.cleanStart = clean ?? section.cleanStart
        section.sessionExpiry = expiry ?? section.sessionExpiry
        section.keepalive = keepalive ?? section.keepalive
        section.receiveMaximum = maximum ?? section.receiveMaximum
        section.brokerQueue = queue ?? section.brokerQueue
        (section.version, section.security, section.will) = settings
        (section.announcesConnections, section.connections, section.publishing) = more
        section.maxDeliveries = mapping.optional("max_deliveries")?.integer(1...1_000) ?? section.maxDeliveries
        section.deliveriesFile = mapping.optional("deliveries_file").flatMap(createdFile)
        checkLogin(section, mapping)
        checkQueue(section, at: mapping.optional("receive_maximum") ?? mapping.optional("broker_queue") ?? value)
        return section
    }

    /// Warns if unacknowledged messages, which count toward the broker's queue limit, leave too little room for others.
    private func checkQueue(_ section: MQTTSection, at value: YAMLValue) {
        let most = section.brokerQueue / 4
        guard section.brokerQueue > 0, section.receiveMaximum > most else { return }
        value.warn(
            "receive_maximum \(section.receiveMaximum) is more than a quarter of broker_queue \(section.brokerQueue): the "
                + "broker may drop waiting messages without notice; write \(max(1, most)) or less, or let the broker queue more",
            .receiveMaximum,
            suggestion: "\(max(1, most))"
        )
    }

    func topics(_ value: YAMLValue) -> [TopicSection]? {
        guard let list = value.list() else { return nil }
        if list.isEmpty { value.reportError("list at least one { pattern: … }", .missingKey) }
        // An error in one topic makes a comparison of all of them meaningless.
        let topics = list.map(topic)
        guard !topics.isEmpty, !topics.contains(where: { $0 == nil }) else { return nil }
        let found = topics.compactMap { $0 }
        return checkShadowing(zip(found, list).map { ($0.pattern, $1) }) ? found : nil
    }

    /// Reports topics that an earlier topic shadows.
    ///
    /// - Returns: Whether one source can have all of the topics.
    private func checkShadowing(_ patterns: [(pattern: TopicPattern, value: YAMLValue)]) -> Bool {
        var filters: Set<TopicFilter> = []
        var shapes: [TopicShape] = []
        var isValid = true
        for (pattern, value) in patterns {
            let shape = TopicShape(pattern)
            let entry = value.anyMapping()?.optional("pattern") ?? value
            if !filters.insert(pattern.filter).inserted {
                let shown = pattern.filter.text.debugDescription
                entry.reportError("two topics subscribe to \(shown); only the first would be used", .shadowedRoute)
                isValid = false
            } else if shapes.count <= ConfigurationReader.maximumCompared,
                let earlier = shapes.firstIndex(where: { $0.covers(shape) })
            {
                entry.warn(
                    "never used: 'topics[\(earlier)]' comes first and matches everything that this one does; put this one first",
                    .shadowedRoute
                )
            }
            shapes.append(shape)
        }
        return isValid
    }

    /// The maximum number of topics to compare pairwise. A source with more topics is invalid anyway.
    private static let maximumCompared = 1_000

    private func topic(_ value: YAMLValue) -> TopicSection? {
        guard let mapping = value.mapping(.topic) else { return nil }
        let kinds = PayloadKind.allCases.map(\.rawValue)
        let payload = mapping.optional("payload").map { $0.keyword(of: kinds, "a kind of payload") } ?? "json"
        let named = mapping.optional("action")
        let action = named?.parsed(.badName) { try ActionName($0) }
        let envelope = mapping.optional("envelope").map { self.envelope($0) } ?? .standard
        let delivery = delivery(mapping)
        let written = mapping.required("pattern", "such as push/{device}/{action}")
        guard let written,
            let pattern = written.parsed(.badPattern, { try TopicPattern($0) }),
            let kind = payload.flatMap(PayloadKind.init(rawValue:)), let envelope, named == nil || action != nil
        else { return nil }
        var section = TopicSection(pattern: pattern, payload: kind, action: action, envelope: envelope)
        (section.qos, section.retained) = delivery
        guard namesAction(section, mapping, at: value) else { return nil }
        if let action, let named { locations.actions.append((action, named)) }
        return section
    }

    func envelope(_ value: YAMLValue) -> TopicEnvelope? {
        value.keyword(of: TopicEnvelope.allCases.map(\.rawValue), "an envelope").flatMap(
            TopicEnvelope.init(rawValue:)
        )
    }

    /// Returns whether exactly one setting names the action of the topic's messages.
    private func namesAction(_ topic: TopicSection, _ mapping: YAMLMapping, at value: YAMLValue) -> Bool {
        let captures = topic.pattern.captureNames.contains("action")
        if captures, let action = mapping.optional("action") {
            action.reportError("the pattern already has an {action}; keep one of the two", .conflictingKeys)
            return false
        }
        if captures || topic.action != nil, let envelope = mapping.optional("envelope") {
            let namer = captures ? "the pattern's {action}" : "'action'"
            envelope.reportError(
                "\(namer) names the action, so no envelope is read; keep one of the two",
                .conflictingKeys
            )
            return false
        }
        if !captures, topic.action == nil, topic.payload != .json {
            let kind = topic.payload.rawValue
            value.reportError(
                "a \(kind) payload cannot name an action; add 'action', or {action} to the pattern",
                .missingKey
            )
            return false
        }
        return true
    }
}

/// The connection settings of a broker source, except its address.
extension ConfigurationReader {
    /// - Parameter broker: The broker, or `nil` if its address is invalid, which has been reported.
    func connectionSettings(
        _ mapping: YAMLMapping,
        of broker: MQTTBroker?
    ) -> (version: MQTTVersion, security: MQTTSecurity, will: MQTTWill?) {
        let keywords = MQTTVersion.allCases.map(\.rawValue)
        let version = mapping.optional("version")?.keyword(of: keywords, "an MQTT version")
        return (
            version.flatMap(MQTTVersion.init(rawValue:)) ?? .v5, security(mapping, of: broker),
            mapping.optional("will").flatMap(will)
        )
    }

    /// Returns the QoS of a topic and its policy for retained messages.
    func delivery(_ mapping: YAMLMapping) -> (qos: MQTTQoS, retained: MQTTRetained) {
        let keywords = MQTTRetained.allCases.map(\.rawValue)
        let meaning = "a way to treat retained messages"
        let retained = mapping.optional("retained")?.keyword(of: keywords, meaning)
        return (qos(mapping) ?? .atLeastOnce, retained.flatMap(MQTTRetained.init(rawValue:)) ?? .deliver)
    }

    /// Returns the value of the key `qos`.
    func qos(_ mapping: YAMLMapping) -> MQTTQoS? {
        mapping.optional("qos")?.integer(0...1).flatMap(MQTTQoS.init(rawValue:))
    }

    private func security(_ mapping: YAMLMapping, of broker: MQTTBroker?) -> MQTTSecurity {
        let trust = mapping.optional("trust").flatMap(trust).map(MQTTServerTrust.init)
        let identity = mapping.optional("identity").flatMap(identity).map(MQTTIdentity.init)
        let written = mapping.optional("pre_shared_key", formerly: "shared_key")
        let key = written.flatMap(preSharedKey)
        let certificates = ["trust", "identity"]
        if let broker, !broker.usesTLS {
            for (name, value) in certificates.map({ ($0, mapping.optional($0)) }) + [("pre_shared_key", written)] {
                value?.reportError(
                    "the broker's URL is mqtt://; '\(name)' requires mqtts://",
                    .conflictingKeys
                )
            }
            return .none
        }
        guard written != nil else {
            return broker.map { _ in .tls(trust ?? .system, identity: identity) } ?? .none
        }
        for name in certificates {
            mapping.optional(name)?.reportError(
                "'pre_shared_key' replaces certificates; remove '\(name)'",
                .conflictingKeys
            )
        }
        // After an error, returns valid settings so that the adapter does not report the same error again.
        return key ?? .tls()
    }

    private func preSharedKey(_ value: YAMLValue) -> MQTTSecurity? {
        guard let mapping = value.mapping(.preSharedKey) else { return nil }
        let identity = mapping.required("identity", "it identifies the client to the broker").flatMap(text)
        let advice = "reference the key, such as key: { env: BROKER_KEY }"
        let key = mapping.required("key", advice).flatMap { secret($0, "a key") }
        let allowsShort = mapping.optional("allow_short")?.flag() ?? false
        guard let identity, let key else { return nil }
        return .preSharedKey(identity: identity, key: key, allowsShort: allowsShort)
    }

    private func will(_ value: YAMLValue) -> MQTTWill? {
        guard let mapping = value.mapping(.will) else { return nil }
        let topic = mapping.required("topic", "name the topic of the message, such as topic: kiosk/gone")?.text()
        let payload = mapping.optional("payload").map { $0.anyText() } ?? ""
        let qos = qos(mapping) ?? .atLeastOnce
        let retain = mapping.optional("retain")?.flag() ?? false
        guard let topic, let payload else { return nil }
        return MQTTWill(topic: topic, payload: Array(payload.utf8), qos: qos, retain: retain)
    }
}

extension MQTTServerTrust {
    fileprivate init(_ trust: WebSocketTrust) {
        switch trust {
        case .system: self = .system
        case .authority(let file): self = .authority(file: file)
        case .anything: self = .insecure
        }
    }
}

extension MQTTIdentity {
    fileprivate init(_ identity: WebSocketIdentity) {
        self.init(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
    }
}

/// The further connections of a broker source, and the `publish` plugin.
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

    /// Returns the settings of a `publish` plugin.
    func publish(_ mapping: YAMLMapping, sources: SourceNames) -> PublishSection? {
        let source = mapping.required("source", "name the source that publishes").flatMap { publisher($0, sources) }
        let topic = mapping.required("topic", "name the topic, such as topic: out/{action}/{id}")?
            .parsed(.badPattern) { try TopicTemplate($0) }
        let qos = qos(mapping) ?? .atLeastOnce
        let retain = mapping.optional("retain")?.flag() ?? false
        guard let source, let topic else { return nil }
        return PublishSection(source: source, topic: topic, qos: qos, retain: retain)
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
        mapping.read("reply_topics", &section.replyTopics, filters)
        section.waitingReplies = mapping.optional("waiting_replies")?.integer(1...1_000_000)
        section.sendTopic =
            mapping.optional("send_topic")?
            .parsed(.badPattern) { try TopicTemplate($0) }?.text
        section.publishTimeout = mapping.optional("publish_timeout")?.duration(.milliseconds(10)...(.seconds(3_600)))
        section.stopTimeout = mapping.optional("stop_timeout")?.duration(.zero...(.seconds(3_600)))
        return section
    }

    private func filters(_ value: YAMLValue) -> [TopicFilter]? {
        value.list()?.compactMap { $0.parsed(.badPattern) { try TopicFilter($0) } }
    }

    /// Returns the name of a source that can publish.
    private func publisher(_ value: YAMLValue, _ sources: SourceNames) -> SourceName? {
        guard let name = value.text() else { return nil }
        guard sources.configured.contains(name) else {
            let known = sources.configured
            value.reportError(
                "there is no source '\(name.prefix(64))'\(NameSuggestion.advice(for: name, among: known))",
                .unknownSource,
                suggestion: NameSuggestion.nearest(to: name, among: known)
            )
            return nil
        }
        var canPublish = sources.mayBe(name, "mqtt")
        if case .mqtt(let section)? = sources.sources[name] { canPublish = section.publishing != nil }
        guard canPublish else {
            value.reportError(
                "the source '\(name)' does not publish; add 'publishing: {}' below its 'mqtt'",
                .missingKey
            )
            return nil
        }
        return try? SourceName(name)
    }
}
