public import SignalboxCore
public import SignalboxRoutes

/// What a push source knows about where a message came from.
public struct PushFacts: OriginFacts {
    /// `push`.
    public static let kind = "push"

    /// The broker as `host:port`.
    public let broker: String
    /// The topic the message was published to; chosen by the publisher. Empty for `signalbox.sessionLost`.
    public let topic: String
    /// What the source's topic pattern named in it, `action` and `id` included, from left to right.
    public let captures: RouteCaptures
    /// Whether the broker had stored the message and sent it because of the subscription: not news.
    public let retained: Bool
    /// The quality of service of the delivery: 0 (at most once) or 1 (at least once).
    public let qos: Int
    /// Whether the connection to the broker is encrypted and the broker verified.
    public let tls: Bool
    /// What the publisher said in MQTT 5 properties, or `nil` when it said nothing. Bounded: see
    /// ``PushProperties``.
    public internal(set) var properties: PushProperties?
    private let isKept: Bool

    /// - Parameter isKept: whether the broker keeps the session when the connection ends.
    package init(
        broker: String,
        topic: String,
        captures: RouteCaptures,
        retained: Bool,
        qos: Int,
        tls: Bool,
        properties: PushProperties? = nil,
        isKept: Bool = true
    ) {
        self.broker = broker
        self.topic = topic
        self.captures = captures
        self.retained = retained
        self.qos = qos
        self.tls = tls
        self.properties = properties
        self.isKept = isKept
    }

    /// Whether the broker redelivers the message: it came at QoS 1, and the broker keeps the session.
    public var isRedelivered: Bool { qos > 0 && isKept }
}

extension PushFacts {
    private enum CodingKeys: String, CodingKey {
        case broker, topic, captures, retained, qos, tls, properties
    }

    private struct CaptureKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Encodes all facts; the captures as an object of names and values.
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
    }
}
