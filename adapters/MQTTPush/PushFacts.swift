public import SignalboxCore
public import SignalboxRoutes

/// The origin of a message from a push source.
///
/// A plugin can read these facts to see how a message arrived. Access rules such as `AccessRule.topic(_:source:)` use
/// them to decide which messages to permit.
public struct PushFacts: OriginFacts {
    /// The kind of these facts: `push`.
    public static let kind = "push"

    /// The broker as `host:port`.
    public let broker: String
    /// The message's topic, which was chosen by the publisher. It is empty for `signalbox.sessionLost`.
    public let topic: String
    /// The values that the topic pattern captured from the topic, from left to right, including `action` and `id`.
    public let captures: RouteCaptures
    /// Whether the message is a retained one, which the broker had stored and delivered because of the subscription,
    /// rather than a new message.
    public let retained: Bool
    /// The quality of service with which the message was delivered: 0 (at most once) or 1 (at least once).
    public let qos: Int
    /// Whether the connection to the broker is encrypted and the broker's identity is verified.
    public let tls: Bool
    /// The message's MQTT 5 properties, or `nil` if it has none. Their size is limited, as described in
    /// ``PushProperties``.
    public internal(set) var properties: PushProperties?
    /// Whether only the beginning of the payload was kept, because the message is larger than a packet may be.
    public internal(set) var truncated = false
    private let keepsSession: Bool

    /// - Parameter keepsSession: Whether the broker keeps the session when the connection ends.
    package init(
        broker: String,
        topic: String,
        captures: RouteCaptures,
        retained: Bool,
        qos: Int,
        tls: Bool,
        properties: PushProperties? = nil,
        keepsSession: Bool = true
    ) {
        self.broker = broker
        self.topic = topic
        self.captures = captures
        self.retained = retained
        self.qos = qos
        self.tls = tls
        self.properties = properties
        self.keepsSession = keepsSession
    }

    /// Whether the broker redelivers the message if it is not acknowledged, which is the case if the message arrived at
    /// QoS 1 and the broker keeps the session.
    public var isRedelivered: Bool { qos > 0 && keepsSession }
}

extension PushFacts {
    private enum CodingKeys: String, CodingKey {
        case broker, topic, captures, retained, qos, tls, properties, truncated
    }

    private struct CaptureKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Encodes all facts. The captures are encoded as an object that maps names to values. `truncated` is encoded only if
    /// it is true.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(broker, forKey: .broker)
        try container.encode(topic, forKey: .topic)
        var named = container.nestedContainer(keyedBy: CaptureKey.self, forKey: .captures)
        for capture in captures {
            try named.encode(capture.value, forKey: CaptureKey(stringValue: capture.name))
        }
        try container.encode(retained, forKey: .retained)
        try container.encode(qos, forKey: .qos)
        try container.encode(tls, forKey: .tls)
        try container.encodeIfPresent(properties, forKey: .properties)
        if truncated { try container.encode(true, forKey: .truncated) }
    }
}

extension PushFacts: Decodable {
    /// Decodes facts that ``encode(to:)`` encoded.
    ///
    /// The broker does not redeliver a message whose facts were stored, so ``isRedelivered`` is `false`. The kinds and
    /// the order of the captures are not stored: all have the kind `text`, in the order of their names.
    ///
    /// - Throws: `DecodingError` if a fact is missing or has another type, or the quality of service is not 0 or 1.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let named = try container.nestedContainer(keyedBy: CaptureKey.self, forKey: .captures)
        let captures = try named.allKeys.map { key in
            RouteCapture(name: key.stringValue, value: try named.decode(String.self, forKey: key))
        }
        let qos = try container.decode(Int.self, forKey: .qos)
        guard (0...1).contains(qos) else {
            throw DecodingError.dataCorruptedError(forKey: .qos, in: container, debugDescription: "expected 0 or 1")
        }
        self.init(
            broker: try container.decode(String.self, forKey: .broker),
            topic: try container.decode(String.self, forKey: .topic),
            captures: RouteCaptures(captures),
            retained: try container.decode(Bool.self, forKey: .retained),
            qos: qos,
            tls: try container.decode(Bool.self, forKey: .tls),
            properties: try container.decodeIfPresent(PushProperties.self, forKey: .properties),
            keepsSession: false
        )
        truncated = try container.decodeIfPresent(Bool.self, forKey: .truncated) ?? false
    }

    /// Returns these stored facts with what the current route captures from the topic.
    func capturing(_ captures: RouteCaptures) -> PushFacts {
        var facts = PushFacts(
            broker: broker,
            topic: topic,
            captures: captures,
            retained: retained,
            qos: qos,
            tls: tls,
            properties: properties,
            keepsSession: keepsSession
        )
        facts.truncated = truncated
        return facts
    }
}

extension PushFacts: TraceCarrying {
    /// Returns the value of the MQTT 5 user property with this name (W3C Trace Context: MQTT protocol, 4).
    ///
    /// - Returns: The value, or `nil` if the message has no such property. The result is also `nil` if the message has
    ///   several properties with this name, because the value would be ambiguous.
    public func traceValue(forKey key: String) -> String? {
        guard let properties = properties?.userProperties else { return nil }
        var found: String?
        for property in properties where property.name == key {
            guard found == nil else { return nil }
            found = property.value
        }
        return found
    }
}

extension AccessRule {
    /// A rule that permits push messages that the broker delivered with exactly this quality of service.
    ///
    /// - Parameters:
    ///   - qos: 0 (at most once) or 1 (at least once).
    ///   - source: The only source to permit, or `nil` to permit every push source.
    /// - Precondition: `qos` is 0 or 1.
    public static func push(qos: Int, source: SourceName? = nil) -> AccessRule {
        precondition((0...1).contains(qos), "an access rule was given QoS \(qos); messages have 0 or 1")
        return push("push of QoS \(qos)", source) { $0.qos == qos }
    }

    /// A rule that permits push messages that the broker delivered with at least this quality of service.
    ///
    /// - Parameters:
    ///   - minimumQoS: 0 (at most once) or 1 (at least once).
    ///   - source: The only source to permit, or `nil` to permit every push source.
    /// - Precondition: `minimumQoS` is 0 or 1.
    public static func push(minimumQoS: Int, source: SourceName? = nil) -> AccessRule {
        precondition((0...1).contains(minimumQoS), "an access rule was given QoS \(minimumQoS); messages have 0 or 1")
        return push("push of at least QoS \(minimumQoS)", source) { $0.qos >= minimumQoS }
    }

    /// A rule that permits push messages depending on whether they are retained.
    ///
    /// - Parameters:
    ///   - retained: `true` to permit only retained messages; `false` to permit only new messages.
    ///   - source: The only source to permit, or `nil` to permit every push source.
    public static func push(retained: Bool, source: SourceName? = nil) -> AccessRule {
        push(retained ? "push that is retained" : "push that is not retained", source) { $0.retained == retained }
    }

    /// A rule that permits push messages depending on whether the connection to the broker is encrypted and verified.
    ///
    /// - Parameters:
    ///   - tls: `true` to permit only encrypted, verified connections; `false` to permit only other connections.
    ///   - source: The only source to permit, or `nil` to permit every push source.
    public static func push(tls: Bool, source: SourceName? = nil) -> AccessRule {
        push(tls ? "push over TLS" : "push without TLS", source) { $0.tls == tls }
    }

    private static func push(
        _ description: String,
        _ source: SourceName?,
        permits: @escaping @Sendable (PushFacts) -> Bool
    ) -> AccessRule {
        AccessRule(description, naming: PushFacts.self, of: source, permits: permits)
    }
}

extension AccessRule {
    /// A rule that permits push messages whose topic matches the filter.
    ///
    /// Use this rule to restrict a plugin to the topics that it is meant for.
    ///
    /// - Parameters:
    ///   - filter: The filter. As in MQTT, `#` and `+/x` do not match topics that begin with `$`.
    ///   - source: The only source to permit, or `nil` to permit every push source.
    public static func topic(_ filter: TopicFilter, source: SourceName? = nil) -> AccessRule {
        AccessRule("topic \(filter.text)", naming: PushFacts.self, of: source) { filter.matches($0.topic) }
    }
}
