import MQTTPush
import SignalboxCore
import SignalboxRoutes

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
        let login = brokerLogin(mapping, of: broker)
        let more = brokerAdditions(mapping)
        guard let broker, let client, let topics else { return nil }
        var section = MQTTSection(broker: broker, clientID: client, username: user, password: password, topics: topics)
        section.cleanStart = clean ?? section.cleanStart
        section.sessionExpiry = expiry ?? section.sessionExpiry
        section.keepalive = keepalive ?? section.keepalive
        section.receiveMaximum = maximum ?? section.receiveMaximum
        section.brokerQueue = queue ?? section.brokerQueue
        (section.version, section.security, section.will) = login
        (section.announcesConnections, section.connections, section.publishing) = more
        section.maxDeliveries = mapping.optional("max_deliveries")?.integer(1...1_000) ?? section.maxDeliveries
        section.deliveriesFile = mapping.optional("deliveries_file").flatMap { value in
            let path = text(value)
            if let path { lookForFolder(of: path, named: value) }
            return path
        }
        compareLogin(section, mapping)
        compareQueue(section, at: mapping.optional("receive_maximum") ?? mapping.optional("broker_queue") ?? value)
        return section
    }

    /// What was sent and is not acknowledged counts in the broker's queue: it must leave room for what waits.
    private func compareQueue(_ section: MQTTSection, at value: YAMLValue) {
        let most = section.brokerQueue / 4
        guard section.brokerQueue > 0, section.receiveMaximum > most else { return }
        value.warn(
            "receive_maximum \(section.receiveMaximum) is more than a quarter of broker_queue \(section.brokerQueue): the "
                + "broker may drop what waits and tell nobody; write \(max(1, most)) or less, or let the broker keep more",
            .receiveMaximum,
            suggestion: "\(max(1, most))"
        )
    }

    func topics(_ value: YAMLValue) -> [TopicSection]? {
        guard let list = value.list() else { return nil }
        if list.isEmpty { value.complain("list at least one { pattern: … }", .missingKey) }
        // With a mistake in one of them nothing can be said about all of them.
        let topics = list.map(topic)
        guard !topics.isEmpty, !topics.contains(where: { $0 == nil }) else { return nil }
        let found = topics.compactMap { $0 }
        return compare(zip(found, list).map { ($0.pattern, $1) }) ? found : nil
    }

    /// Notes topics that an earlier one always wins over.
    ///
    /// - Returns: whether a source can have them all.
    private func compare(_ patterns: [(pattern: TopicPattern, value: YAMLValue)]) -> Bool {
        var filters: Set<TopicFilter> = []
        var shapes: [TopicShape] = []
        var isGood = true
        for (pattern, value) in patterns {
            let shape = TopicShape(pattern)
            let place = value.anyMapping()?.optional("pattern") ?? value
            if !filters.insert(pattern.filter).inserted {
                let shown = pattern.filter.text.debugDescription
                place.complain("two topics subscribe to \(shown); only the first would ever be used", .shadowedRoute)
                isGood = false
            } else if shapes.count <= ConfigurationReader.mostCompared,
                let earlier = shapes.firstIndex(where: { $0.covers(shape) })
            {
                place.warn(
                    "never used: 'topics[\(earlier)]' comes before it and matches all that it does; put this one first",
                    .shadowedRoute
                )
            }
            shapes.append(shape)
        }
        return isGood
    }

    /// A source has at most 1,000 topics; more is a mistake of its own, and comparing each with each takes long then.
    private static let mostCompared = 1_000

    private func topic(_ value: YAMLValue) -> TopicSection? {
        guard let mapping = value.mapping(.topic) else { return nil }
        let kinds = PayloadKind.allCases.map(\.rawValue)
        let payload = mapping.optional("payload").map { $0.word(of: kinds, meaning: "a kind of payload") } ?? "json"
        let named = mapping.optional("action")
        let action = named?.parsed(.badName) { (text) throws(NameError) in try ActionName(text) }
        let envelope = mapping.optional("envelope").map { self.envelope($0) } ?? .standard
        let delivery = delivery(mapping)
        let written = mapping.required("pattern", "such as push/{device}/{action}")
        guard let written,
            let pattern = written.parsed(.badPattern, { (text) throws(TopicError) in try TopicPattern(text) }),
            let kind = payload.flatMap(PayloadKind.init(rawValue:)), let envelope, named == nil || action != nil
        else { return nil }
        var section = TopicSection(pattern: pattern, payload: kind, action: action, envelope: envelope)
        (section.quality, section.retained) = delivery
        guard namesAction(section, mapping, at: value) else { return nil }
        if let action, let named { places.actions.append((action, named)) }
        return section
    }

    func envelope(_ value: YAMLValue) -> TopicEnvelope? {
        value.word(of: TopicEnvelope.allCases.map(\.rawValue), meaning: "an envelope").flatMap(
            TopicEnvelope.init(rawValue:)
        )
    }

    /// Whether there is one thing, and no second, that names the action of its messages.
    private func namesAction(_ topic: TopicSection, _ mapping: YAMLMapping, at value: YAMLValue) -> Bool {
        let captures = topic.pattern.captureNames.contains("action")
        if captures, let action = mapping.optional("action") {
            action.complain("the pattern has an {action} already; keep one of the two", .conflictingKeys)
            return false
        }
        if captures || topic.action != nil, let envelope = mapping.optional("envelope") {
            let namer = captures ? "the pattern's {action}" : "'action'"
            envelope.complain("\(namer) names the action, and no envelope does; keep one of the two", .conflictingKeys)
            return false
        }
        if !captures, topic.action == nil, topic.payload != .json {
            let kind = topic.payload.rawValue
            value.complain(
                "a \(kind) payload names no action; add 'action:', or an {action} to the pattern",
                .missingKey
            )
            return false
        }
        return true
    }
}
