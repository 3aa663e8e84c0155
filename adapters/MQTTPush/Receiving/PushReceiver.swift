#if MQTT
import AdapterSupport
package import SignalboxCore
package import SignalboxRoutes

/// Fills batches with messages from successive connections. Only one thread may use a receiver.
final class PushReceiver {
    /// The number of messages since the last call to ``logDropped(to:)`` whose topics match no filter.
    private var unexpected = 0
    /// The number of retained messages that were dropped since the last call to ``logDropped(to:)``.
    private var ignored = 0

    private var batch: ArrivalBatch
    private var routes: RouteCache
    private var propertyBytes = 0
    private var fingerprints: [MessageFingerprint?] = []
    private var receivedAt = WallTime(seconds: 0)
    private var configuration: MQTTPushConfiguration
    private var former: [MQTTTopic] = []
    /// The subscription identifiers of the topics.
    private(set) var identifiers: TopicIdentifiers
    /// The number of messages so far that may belong to a shared subscription.
    private(set) var groupMessages = 0
    /// Whether a session loss still has to be announced.
    var isSessionLossPending = false
    private var announcesSessionLoss = false

    private let sender: PushSender?
    private let deliveries: DeliveryTracker?

    /// - Parameters:
    ///   - sender: The sender to pass to plugins with each arrival, if there is one.
    ///   - deliveries: The tracker that recognizes messages that may have crashed an earlier process, or `nil` if
    ///     deliveries are not counted.
    init(configuration: MQTTPushConfiguration, sender: PushSender? = nil, deliveries: DeliveryTracker? = nil) {
        self.sender = sender
        self.deliveries = deliveries
        batch = ArrivalBatch(pool: ArrivalPool(), limits: configuration.limits)
        identifiers = TopicIdentifiers(configuration.topics)
        routes = RouteCache(configuration: configuration, identifiers: identifiers)
        self.configuration = configuration
    }

    var count: Int { batch.count }
    /// The size of the messages, plus the approximate size of the facts created for this batch.
    var byteCount: Int { batch.byteCount + propertyBytes + routes.createdBytes }

    /// Returns the messages that were read since the last call, and what to record about their deliveries: one element for
    /// each of them, or none if deliveries are not counted.
    func takeBatch() -> (arrivals: [Arrival], fingerprints: [MessageFingerprint?]) {
        defer { fingerprints.removeAll(keepingCapacity: true) }
        propertyBytes = 0
        routes.resetCreatedBytes()
        return (batch.take(), fingerprints)
    }

    /// Returns the arrivals of restored messages, each of which was restored in this order.
    func takeBatch(keepingIDsOf messages: [StoredMessage]) -> [Arrival] { batch.take(keepingIDsOf: messages) }

    /// Logs how many messages were unexpected, and how many retained messages were dropped, since the last call.
    func logDropped(to log: BrokerLog) {
        if unexpected > 0 { log.unexpected(unexpected) }
        if ignored > 0 { log.ignored(ignored) }
        (unexpected, ignored) = (0, 0)
    }

    /// Names the broker of the next messages in their facts.
    func use(_ broker: MQTTBroker) {
        guard broker != configuration.broker else { return }
        configuration.broker = broker
        routes = RouteCache(configuration: configuration, former: former, identifiers: identifiers)
    }

    /// Sets the topics to expect. If several of them match a message, the first one determines how the message is read.
    func use(_ snapshot: SubscriptionManager.Snapshot) {
        guard snapshot.topics != configuration.topics || snapshot.former != former else { return }
        configuration.topics = snapshot.topics
        former = snapshot.former
        identifiers = TopicIdentifiers(configuration.topics)
        routes = RouteCache(configuration: configuration, former: former, identifiers: identifiers)
    }

    /// Appends a message to the batch. The configuration of the message's topic determines how the message is read.
    ///
    /// - Returns: `false` if the message is not appended, because retained messages of its topic are ignored.
    func received(_ message: BrokerMessage, token: UInt64) -> Bool {
        if batch.count == 0 { receivedAt = .now() }
        let route = routes.route(of: message)
        if route.mayBeShared { groupMessages += 1 }
        guard !route.isIgnored else {
            ignored += 1
            // Without this, the routes of dropped messages could fill a batch that contains no messages to submit.
            if batch.count == 0 { routes.resetCreatedBytes() }
            return false
        }
        if !route.isExpected { unexpected += 1 }
        var envelope = route.envelope
        if let deliveries { count(message, deliveries, &envelope) }
        if message.length > message.payload.count {
            let limit = configuration.packetLimit
            let detail = "the message has \(message.length) bytes, and a packet can have at most \(limit)"
            envelope = .failure(Outcome.Rejection(.malformed, detail: detail))
        }
        append(message, token: token, route, envelope)
        return true
    }

    /// Counts a delivery of a QoS 1 message, which the broker repeats until the message is acknowledged.
    private func count(
        _ message: BrokerMessage,
        _ deliveries: DeliveryTracker,
        _ envelope: inout Result<Envelope, Outcome.Rejection>
    ) {
        guard message.qos > 0 else { return fingerprints.append(nil) }
        let (topic, payload) = (message.topic, message.payload)
        let fingerprint =
            message.isRetained
            ? MessageFingerprint(retained: payload, on: topic)
            : MessageFingerprint(packetID: message.packet, topic: topic, payload: payload)
        fingerprints.append(fingerprint)
        if let rejection = deliveries.received(fingerprint, on: topic) { envelope = .failure(rejection) }
    }

    /// Appends the internal `sessionLost` action if one is pending.
    ///
    /// - Parameter token: Returns the token of the action, or `nil` if there is no room for it yet.
    func announceSessionLoss(token: () -> UInt64?) {
        guard isSessionLossPending, !announcesSessionLoss, let token = token() else { return }
        if deliveries != nil { fingerprints.append(nil) }
        if batch.count == 0 { receivedAt = .now() }
        let facts = PushFacts(
            broker: configuration.broker.description,
            topic: "",
            captures: RouteCaptures(),
            retained: false,
            qos: 1,
            tls: configuration.security.isVerified
        )
        sessionLostBody.withUnsafeBytes { body in
            batch.append(
                body,
                token: token,
                origin: Origin(source: configuration.source, facts: facts),
                sender: sender,
                receivedAt: receivedAt,
                envelope: .handler(.pushSessionLost)
            )
        }
        announcesSessionLoss = true
    }

    /// The body of ``ActionName/pushSessionLost``.
    private var sessionLostBody: [UInt8] {
        var object = JSONObject()
        object.add("broker", configuration.broker.description)
        object.add("client_id", configuration.clientID.text)
        object.add("connection", configuration.connectionName)
        return object.bytes
    }

    /// Returns whether the last batch contained the `sessionLost` action, and resets this state, so that a second call
    /// returns `false`.
    func takeAnnouncesSessionLoss() -> Bool {
        defer { announcesSessionLoss = false }
        return announcesSessionLoss
    }

    private func append(
        _ message: BrokerMessage,
        token: UInt64,
        _ route: PushRoute,
        _ envelope: Result<Envelope, Outcome.Rejection>
    ) {
        var origin = route.origin
        var deadline: ContinuousClock.Instant?
        let isTruncated = message.length > message.payload.count
        if isTruncated {
            var facts = route.facts
            facts.truncated = true
            origin = Origin(source: origin.source, facts: facts)
        }
        if !message.properties.isEmpty {
            let copied = PushProperties(reading: 0..<message.properties.count, of: message.properties)
            if !copied.isEmpty {
                origin = PushReceiver.origin(route, copied, isTruncated: isTruncated)
                propertyBytes += copied.memoryEstimate
            }
            deadline = copied.messageExpiry.map { .now + .seconds(Int64($0)) }
        }
        append(message.payload, token: token, origin, receivedAt, deadline, envelope, route.payload)
    }

    private func append(
        _ payload: UnsafeRawBufferPointer,
        token: UInt64,
        _ origin: Origin,
        _ receivedAt: WallTime,
        _ deadline: ContinuousClock.Instant?,
        _ envelope: Result<Envelope, Outcome.Rejection>,
        _ kind: PayloadKind
    ) {
        switch envelope {
        case .success(let envelope):
            batch.append(
                payload,
                token: token,
                origin: origin,
                sender: sender,
                receivedAt: receivedAt,
                deadline: deadline,
                envelope: envelope,
                payload: kind
            )
        case .failure(let rejection):
            batch.append(
                rejected: rejection,
                original: payload,
                token: token,
                origin: origin,
                sender: sender,
                receivedAt: receivedAt
            )
        }
    }

    private static func origin(_ route: PushRoute, _ properties: PushProperties, isTruncated: Bool) -> Origin {
        var facts = route.facts
        facts.properties = properties
        facts.truncated = isTruncated
        return Origin(source: route.origin.source, facts: facts)
    }
}

// MARK: - Stored messages

extension PushReceiver {
    /// Appends a stored message. The current topics determine how the message is read. Deliveries are not counted, and
    /// retained messages are not ignored.
    func restore(_ message: StoredMessage, token: UInt64, at now: WallTime, _ origins: inout StoredOrigins<PushFacts>) {
        guard let facts = message.facts(as: PushFacts.self) else {
            return batch.append(unreadable: message, token: token)
        }
        message.original.withUnsafeBytes { payload in
            guard !facts.topic.isEmpty else {
                // Only the adapter's own action has no topic.
                return append(
                    payload,
                    token: token,
                    origins.origin(of: facts),
                    message.receivedAt,
                    nil,
                    .success(.handler(.pushSessionLost)),
                    .json
                )
            }
            let route = Array(facts.topic.utf8).withUnsafeBytes { topic in
                routes.route(
                    of: BrokerMessage(
                        topic: topic,
                        payload: payload,
                        isRetained: facts.retained,
                        qos: Int32(facts.qos)
                    )
                )
            }
            append(
                payload,
                token: token,
                origins.origin(of: facts.capturing(route.facts.captures)),
                message.receivedAt,
                PushReceiver.deadline(of: message, facts, at: now),
                facts.truncated ? .failure(PushReceiver.isTruncated) : route.envelope,
                route.payload
            )
        }
    }

    private static let isTruncated = Outcome.Rejection(
        .malformed,
        detail: "only the beginning of the message is stored, because it was larger than a packet may be"
    )

    /// A message that was unreadable has no deadline, but perhaps the property from which it is computed.
    private static func deadline(
        of message: StoredMessage,
        _ facts: PushFacts,
        at now: WallTime
    ) -> ContinuousClock.Instant? {
        if let deadline = message.deadline(at: now) { return deadline }
        guard let expiry = facts.properties?.messageExpiry else { return nil }
        return .now + now.duration(to: message.receivedAt.advanced(by: .seconds(Int64(expiry))))
    }
}

extension MQTTPushConfiguration {
    /// Returns the arrival that a message without properties would become. This method makes no connection, so tools
    /// can use it to explain a configuration.
    ///
    /// - Parameters:
    ///   - topic: The topic of the message. If no pattern matches it, the arrival is a rejection.
    ///   - qos: 0 or 1.
    package func arrival(of payload: [UInt8], on topic: TopicName, retained: Bool, qos: Int) -> Arrival? {
        let receiver = PushReceiver(configuration: self)
        payload.withUnsafeBytes { payload in
            Array(topic.text.utf8).withUnsafeBytes { topic in
                let qos: Int32 = qos == 0 ? 0 : 1
                let message = BrokerMessage(topic: topic, payload: payload, isRetained: retained, qos: qos)
                _ = receiver.received(message, token: 0)
            }
        }
        return receiver.takeBatch().arrivals.first
    }
}
#endif
