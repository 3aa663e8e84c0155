import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes

extension ConfigurationReader {
    func mqtt(_ value: YAMLValue, of name: SourceName, _ limits: MessageLimits) -> MQTTSource? {
        value.mapping("mqtt") { keys in
            let brokers = keys.required("broker", "write mqtt://host:port or { env: NAME }").flatMap(brokers)
            let client = keys.required("client_id", "the broker keeps the session under this name").flatMap(client)
            // Without a valid broker, the other keys are still read, so that their errors are reported too.
            guard let address = brokers?.addresses.first ?? ConfigurationReader.anyBroker else { return nil }
            var push = MQTTPushConfiguration(source: name, broker: address, topics: [], clientID: client ?? .random())
            push.furtherBrokers = Array(brokers?.addresses.dropFirst() ?? [])
            push.limits = limits
            keys.read("clean_start", &push.cleanStart) { $0.flag() }
            keys.read("session_expiry", &push.sessionExpiry) { $0.duration(.zero...(.seconds(4_294_967_294))) }
            keys.read("keepalive", &push.keepalive) { $0.duration(.zero...(.seconds(65_535))) }
            keys.read("username", &push.username) { text($0).map(Secret.text) }
            keys.read("password", &push.password) { secret($0, "a password") }
            let topics = keys.required("topics", "list at least one { pattern: … }").flatMap(topics)
            push.topics = topics ?? []
            keys.read("receive_maximum", &push.receiveMaximum) { $0.integer(1...65_535) }
            keys.read("coalesce", &push.coalesce) {
                $0.isKeyword("off")
                    ? .some(nil) : $0.duration(.microseconds(200)...(.milliseconds(10))).map(Optional.some)
            }
            var source = MQTTSource(push: push)
            keys.read("broker_queue", &source.brokerQueue) { $0.integer(0...1_000_000_000) }
            readTransport(of: keys, to: brokers, into: &source.push)
            readConnection(of: keys, to: brokers, into: &source.push)
            keys.read("max_deliveries", &source.maxDeliveries) { $0.integer(1...1_000) }
            keys.read("deliveries_file", &source.deliveriesFile, createdFile)
            guard brokers != nil, client != nil, topics != nil else { return nil }
            checkLogin(source.push, keys)
            checkQueue(source, keys)
            value.check { try source.push(in: RunConfiguration()).validate() }
            return source
        }
    }

    /// Stands in for a broker whose address is invalid.
    private static let anyBroker = try? MQTTBroker(host: "127.0.0.1")

    /// - Parameter brokers: The brokers, or `nil` if one of them has an error, which was already reported.
    private func readConnection(of keys: YAMLMapping, to brokers: GivenBrokers?, into push: inout MQTTPushConfiguration)
    {
        keys.read("version", &push.version) { $0.keyword("an MQTT version") }
        push.security = security(keys, of: brokers?.addresses)
        keys.read("will", &push.will, will)
        keys.read("connect_properties", &push.connectProperties, userProperties)
        keys.read("announce_connections", &push.announcesConnections) { $0.flag() }
        keys.read("connections", &push.connections) { $0.list()?.compactMap(connection) }
        keys.optional("connections")?.warn(
            "further connections are of no use, because a slow message does not delay others; move their topics to "
                + "'topics', unless messages wait in the sessions of the connections",
            .furtherConnections
        )
        keys.read("publishing", &push.publishing, publishing)
    }

    /// Unacknowledged messages count toward the broker's queue limit. Warns if they leave too little room for others.
    private func checkQueue(_ source: MQTTSource, _ keys: YAMLMapping) {
        let (maximum, queue) = (source.push.receiveMaximum, source.brokerQueue)
        guard queue > 0, maximum > queue / 4 else { return }
        (keys.optional("receive_maximum") ?? keys.optional("broker_queue") ?? keys.value).warn(
            "receive_maximum \(maximum) is more than a quarter of broker_queue \(queue): the broker may drop waiting "
                + "messages without notice; write \(max(1, queue / 4)) or less, or let the broker queue more",
            .receiveMaximum,
            suggestion: keys.optional("receive_maximum").map { _ in "\(max(1, queue / 4))" }
        )
    }

    private func topics(_ value: YAMLValue) -> [MQTTTopic]? {
        guard let list = value.elements("topics: [\"push/{device}/{action}\"]") else { return nil }
        if list.isEmpty { value.reportError("list at least one { pattern: … }", .missingKey) }
        // If any topic has an error, there is no point in comparing the topics.
        let topics = list.compactMap(topic)
        guard !topics.isEmpty, topics.count == list.count else { return nil }
        for (topic, entry) in zip(topics, list) { checkActionCapture(of: topic, at: entry) }
        return checkShadowing(zip(topics, list).map { ($0.pattern, $1) }) ? topics : nil
    }

    /// Warns about a capture such as `{Action}`. Only `{action}` names the action, so each message must be an envelope.
    private func checkActionCapture(of topic: MQTTTopic, at value: YAMLValue) {
        let names = topic.pattern.captureNames
        guard topic.action == nil, !names.contains("action"),
            let name = names.first(where: { $0.lowercased() == "action" })
        else { return }
        let entry = value.isMapping ? value.anyMapping()?.optional("pattern") ?? value : value
        let corrected = topic.pattern.text.replacing("{\(name)", with: "{action")
        entry.warn(
            "{\(name)} does not name the action, so each message must be an envelope that does; did you mean {action}?",
            .actionCapture,
            suggestion: corrected
        )
    }

    /// Reports each topic that is shadowed by an earlier one.
    ///
    /// - Returns: Whether one source can have all of the topics.
    private func checkShadowing(_ patterns: [(pattern: TopicPattern, value: YAMLValue)]) -> Bool {
        var filters: Set<TopicFilter> = []
        var shapes: [TopicShape] = []
        var isValid = true
        for (pattern, value) in patterns {
            let shape = TopicShape(pattern)
            let entry = value.isMapping ? value.anyMapping()?.optional("pattern") ?? value : value
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

    /// The maximum number of topics that are compared pairwise. A source with more topics is invalid in any case.
    private static let maximumCompared = 1_000

    /// Returns a topic, which is written as a mapping or as its pattern alone.
    private func topic(_ value: YAMLValue) -> MQTTTopic? {
        guard value.characters == nil else {
            return value.parsed(.badPattern) { try TopicPattern($0) }.map { MQTTTopic($0) }
        }
        return value.mapping("topic") { keys in
            let before = problems.mistakes
            let written = keys.required("pattern", "such as push/{device}/{action}")
            let pattern = written?.parsed(.badPattern) { try TopicPattern($0) }
            guard var topic = (pattern ?? ConfigurationReader.anyPattern).map({ MQTTTopic($0) }) else { return nil }
            keys.read("payload", &topic.payload) { $0.keyword("a kind of payload") }
            keys.read("action", &topic.action) { action(namedBy: $0, on: written?.characters) }
            keys.read("envelope", &topic.envelope, envelope)
            let isValid = pattern != nil && problems.mistakes == before
            keys.read("qos", &topic.qos, qos)
            keys.read("retained", &topic.retained) { $0.keyword("a way to treat retained messages") }
            return isValid && namesAction(topic, keys) ? topic : nil
        }
    }

    /// Stands in for an invalid pattern.
    private static let anyPattern = try? TopicPattern("+")

    /// The envelopes by keyword.
    static let envelopes: KeyValuePairs<String, PayloadEnvelope> = [
        "standard": .standard, "apns": .apns, "cloud_events": .cloudEvents,
    ]

    func envelope(_ value: YAMLValue) -> PayloadEnvelope? {
        value.keyword(ConfigurationReader.envelopes, "an envelope")
    }

    /// Returns whether exactly one setting names the action for messages on the topic.
    private func namesAction(_ topic: MQTTTopic, _ keys: YAMLMapping) -> Bool {
        let captures = topic.pattern.captureNames.contains("action")
        if captures, let action = keys.optional("action") {
            action.reportError("the pattern already has an {action}; keep one of the two", .conflictingKeys)
        } else if captures || topic.action != nil, let envelope = keys.optional("envelope") {
            let namer = captures ? "the pattern's {action}" : "'action'"
            envelope.reportError(
                "\(namer) names the action, so no envelope is read; keep one of the two",
                .conflictingKeys
            )
        } else if !captures, topic.action == nil, topic.payload != .json {
            let kind = topic.payload.rawValue
            keys.value.reportError(
                "a \(kind) payload cannot name an action; add 'action', or {action} to the pattern",
                .missingKey
            )
        } else {
            return true
        }
        return false
    }
}

/// Reads the security settings and the additional connections of a broker source.
extension ConfigurationReader {
    func qos(_ value: YAMLValue) -> MQTTQoS? { value.integer(0...1).flatMap(MQTTQoS.init(rawValue:)) }

    private func security(_ keys: YAMLMapping, of brokers: [MQTTBroker]?) -> MQTTSecurity {
        let (trust, identity) = (keys.optional("trust"), keys.optional("identity"))
        let key = keys.optional("pre_shared_key", formerly: "shared_key")
        let tls = MQTTSecurity.tls(
            trust.flatMap { self.trust($0, MQTTServerTrust.authority, system: .system, anything: .insecure) }
                ?? .system,
            identity: identity.flatMap { self.identity($0, MQTTIdentity.init) }
        )
        let preShared = key.flatMap(preSharedKey)
        if let brokers, !brokers.allSatisfy(\.usesTLS) {
            for (name, value) in [("trust", trust), ("identity", identity), ("pre_shared_key", key)] {
                value?.reportError(ConfigurationReader.needsTLS(name, brokers), .conflictingKeys)
            }
            return .none
        }
        guard key != nil else { return brokers == nil ? .none : tls }
        for (name, value) in [("trust", trust), ("identity", identity)] {
            value?.reportError("'pre_shared_key' replaces certificates; remove '\(name)'", .conflictingKeys)
        }
        // After an error, this method returns valid settings, so that the adapter does not report the same error again.
        return preShared ?? .tls()
    }

    private func preSharedKey(_ value: YAMLValue) -> MQTTSecurity? {
        value.mapping("preSharedKey") { keys in
            let identity = keys.required("identity", "it identifies the client to the broker").flatMap(text)
            let advice = "reference the key, such as key: { env: BROKER_KEY }"
            let key = keys.required("key", advice).flatMap { secret($0, "a key") }
            let allowsShort = keys.optional("allow_short")?.flag() ?? false
            guard let identity, let key else { return nil }
            return .preSharedKey(identity: identity, key: key, allowsShort: allowsShort)
        }
    }

    private func connection(_ value: YAMLValue) -> MQTTConnection? {
        value.mapping("connection") { keys in
            let name = keys.required("name", "the client id of the connection ends with it")?.text()
            let topics = keys.required("topics", "list at least one { pattern: … }").flatMap(topics)
            guard let name, let topics else { return nil }
            return MQTTConnection(name: name, topics: topics)
        }
    }

    private func publishing(_ value: YAMLValue) -> MQTTPublishing? {
        value.mapping("publishing", changing: MQTTPublishing()) { keys, publishing in
            keys.read("client_id", &publishing.clientID, client)
            keys.read("queued_messages", &publishing.queuedMessages) { $0.integer(1...1_000_000) }
            keys.read("queued_bytes", &publishing.queuedBytes) { $0.size((1 << 10)...(1 << 30)) }
            keys.read("reply_topics", &publishing.replyTopics) { value in
                value.list()?.compactMap { $0.parsed(.badPattern) { try TopicFilter($0) } }
            }
            keys.read("waiting_replies", &publishing.waitingReplies) { $0.integer(1...1_000_000) }
            keys.read("send_topic", &publishing.sendTopic) { $0.parsed(.badPattern) { try TopicTemplate($0).text } }
            keys.read("publish_timeout", &publishing.publishTimeout) {
                $0.duration(.milliseconds(10)...(.seconds(3_600)))
            }
            keys.read("stop_timeout", &publishing.stopTimeout) { $0.duration(.zero...(.seconds(3_600))) }
        }
    }
}
