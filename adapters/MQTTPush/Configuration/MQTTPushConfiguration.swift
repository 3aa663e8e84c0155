import AdapterSupport
public import SignalboxCore
import SignalboxRoutes

/// The configuration of a push source, which is validated when you create an ``MQTTPushAdapter``.
///
/// A source uses MQTT 5 or 3.1.1, at QoS 0 and 1. QoS 2 is not supported, because receiving a message exactly once
/// requires a durable record of packet identifiers.
public struct MQTTPushConfiguration: Sendable, Hashable {
    /// The maximum size of an MQTT packet, in bytes (MQTT 5.0, 2.1.4).
    static let largestPacket = 268_435_455

    /// The name of the source, as used in access rules and log lines.
    public var source: SourceName
    /// The broker.
    public var broker: MQTTBroker
    /// Further brokers of the same cluster, at most 15, which are tried when ``broker`` cannot be reached or is lost. They
    /// must use TLS if ``broker`` does, and only then. The list is empty by default.
    ///
    /// The client expects the same session on each broker, so the cluster must share it. All other settings, such as the
    /// login, are those of each broker.
    public var furtherBrokers: [MQTTBroker] = []
    /// The order in which the brokers are tried. The default is ``MQTTBrokerOrder/listed``.
    public var brokerOrder = MQTTBrokerOrder.listed
    /// The proxy through which to connect, if any. The environment's variables, such as `http_proxy`, have no effect. A
    /// broker with a Unix socket is connected to directly.
    public var proxy: MQTTProxy?
    /// Additional headers of the request for a WebSocket. There can be at most 32, with distinct names.
    public var headers: [MQTTHeader] = []
    /// The application protocols to offer to a broker with TLS, most preferred first (ALPN; RFC 7301). There can be at most
    /// 16, each with 1 to 255 bytes. The default, `nil`, offers `mqtt`, or `http/1.1` for a WebSocket; an empty list offers
    /// nothing.
    public var alpn: [String]?
    /// The subscriptions, from 1 to 1,000. If several subscriptions match a message's topic, the first of them
    /// determines how the message is read.
    public var topics: [MQTTTopic]
    /// The id that the broker uses to identify the session.
    public var clientID: MQTTClientID
    /// Whether the first connection in a run discards the session held by the broker. The default is `false`.
    public var cleanStart: Bool
    /// How long the broker keeps the session and its messages while the source is disconnected. Must be a whole number
    /// of seconds between 0 (no session) and 2^32 - 2; the default is 1 h.
    public var sessionExpiry: Duration
    /// The maximum time without traffic before the source sends a ping. Must be 0, which disables pings, or a whole
    /// number of seconds between 5 and 65,535; the default is 30 s.
    public var keepalive: Duration = .seconds(30)
    /// The user name, which is read again for each connection. The default is `nil`, which connects without a user
    /// name.
    public var username: Secret?
    /// The password, which is read again for each connection. It requires a user name. The default is `nil`.
    public var password: Secret?
    /// The protocol version. The default is MQTT 5.
    public var version: MQTTVersion = .v5
    /// The security of the connection. By default, a connection to an `mqtts://` broker uses TLS and trusts the
    /// system's certificate authorities.
    public var security: MQTTSecurity
    /// The message that the broker publishes if the source's own connection ends without a DISCONNECT packet. The
    /// default is `nil`, which means no message. The additional ``connections`` have no will.
    public var will: MQTTWill?
    /// The enhanced authentication (MQTT 5.0, 4.12), in addition to a user name and password if there are any. MQTT 3.1.1 has
    /// none. The default is `nil`. The publishing
    /// connection authenticates in the same way.
    public var authentication: MQTTAuthenticator?
    /// The user properties of CONNECT, from which a broker may learn about the client (MQTT 5.0, 3.1.2.11.8). There can be at
    /// most 64, and MQTT 3.1.1 has none. The publishing connection has the same. The default is none.
    public var connectProperties: [MQTTMessage.UserProperty] = []
    /// Up to 16 additional connections, each with separate topics and a separate thread and session. By default, the
    /// source has only its own connection.
    public var connections: [MQTTConnection] = []
    /// The name of the connection that this configuration is for, or `nil` for the source's own connection.
    package internal(set) var connectionName: String?
    /// Whether the adapter submits the action `signalbox.sessionLost` after the broker has lost the session. The
    /// default is `false`.
    public var announcesConnections = false
    /// The maximum number of QoS 1 messages that the broker may send ahead without an acknowledgement. Must be between
    /// 1 and 65,535; the default is 250.
    ///
    /// Keep this number far below the broker's queue limit, because a broker silently drops messages beyond that limit.
    /// In mosquitto, the limit is `max_queued_messages`, which is 1,000 by default.
    public var receiveMaximum = 250
    /// The limits for the size and nesting of each message. A message that exceeds these limits, but not
    /// ``packetLimit``, is rejected and acknowledged.
    public var limits = MessageLimits()
    /// The size in bytes of a connection's unacknowledged messages from which it reads no further ones. Must be between
    /// 1 byte and 8 MiB; the default is 4 MiB. The last message may exceed this size.
    ///
    /// A message that is settled counts until all earlier messages of the connection are settled, because the broker
    /// expects acknowledgements in order (MQTT 5.0, 4.6).
    public var heldBytes = 4 * 1024 * 1024
    /// The most by which a message or its acknowledgement may be delayed under load, so that one wake-up of the thread
    /// serves several of them. Must be between 200 us and 10 ms, or `nil` for no delay; the default is 1 ms.
    ///
    /// The thread sleeps for at most three tenths of this time, and only if it expects at least 4 messages meanwhile: with
    /// the default, from about 13,000 messages a second on. A system with coarse timers may delay longer.
    public var coalesce: Duration? = .milliseconds(1)
    /// The ack deadline that is configured for the supervisor. Must be between 10 ms and 1 h; the default is 5 s.
    ///
    /// Each message must reach its plugin within this time. The adapter adjusts the number of messages in flight, so
    /// that this holds even for a slow plugin.
    public var ackDeadline: Duration = .seconds(5)
    /// How long an attempt to connect to one broker may take, from the lookup of its name to its answer to CONNECT,
    /// including the handshakes. Must be between 100 ms and 1 h; the default is 10 s. The time for reading secrets and files
    /// does not count.
    public var connectTimeout: Duration = .seconds(10)
    /// How long to wait for the answers to SUBSCRIBE and UNSUBSCRIBE, and for a broker that accepts no data. Must be between
    /// 100 ms and 1 h; the default is 10 s. After this time, the source disconnects and tries again.
    public var answerTimeout: Duration = .seconds(10)
    /// Texts that replace those of the remedies in errors and log lines, for a program without a configuration.
    package var remedies: [BrokerRemedy: String] = [:]
    /// How to read messages whose topic matches no configured or removed topic, because they wait in a session that had
    /// other subscriptions. The source does not subscribe to these topics. By default, such messages are rejected.
    package var otherTopics: [MQTTTopic] = []
    /// Topics to which an earlier run may have subscribed in the same session. The source unsubscribes from them when it
    /// continues the session, and still reads the messages that wait for them. At most the last 1,000 are used. The list
    /// is empty by default.
    package var formerTopics: [MQTTTopic] = []
    /// How long a stop waits for the broker to read the last acknowledgements. Must be between 0 and 1 h; the default
    /// is 1 s. If the broker has not read the acknowledgements by then, it may redeliver messages that were already
    /// handled.
    public var lingerTimeout: Duration = .seconds(1)
    /// How long to wait between connection attempts.
    public var reconnect = MQTTReconnect()
    /// Whether a run throws an error if its first connection fails. The default is `false`.
    ///
    /// If this property is `true`, a run throws an error such as `notConnected` when the first connection fails. It
    /// throws `subscriptionRefused` if the broker refuses every topic filter before it has granted any.
    ///
    /// Use `true` for a terminal command, where a person can fix the error. A service should keep trying instead.
    public var firstConnectionMustSucceed = false
    /// The number of topics whose origins are cached. Must be between 1 and 65,536; the default is 1,024.
    ///
    /// When the cache is full, a new topic takes the place of one that no message has used for a while. Each cached
    /// topic uses about 512 bytes of memory plus 4 times the topic's length. Topics longer than 1 KiB are not cached.
    public var cachedTopics = 1_024
    /// Limits how often a message is delivered if handling it crashes the process. By default, there is no limit.
    public var deliveries: MQTTDeliveryLimit?
    /// How the source publishes. By default, the source does not publish, so it has no second connection, sends no
    /// replies and provides no sender.
    public var publishing: MQTTPublishing?

    /// Creates the configuration of a source with a session, so the broker queues messages while the source is
    /// disconnected.
    public init(
        source: SourceName,
        broker: MQTTBroker,
        topics: [MQTTTopic],
        clientID: MQTTClientID,
        cleanStart: Bool = false,
        sessionExpiry: Duration = .seconds(3_600)
    ) {
        self.source = source
        self.broker = broker
        security = broker.usesTLS ? .tls() : .none
        self.topics = topics
        self.clientID = clientID
        self.cleanStart = cleanStart
        self.sessionExpiry = sessionExpiry
    }

    /// Creates the configuration of a source without a session, using a random client id.
    ///
    /// Use this configuration for a source that needs messages only while it is connected. The broker does not queue
    /// messages for such a source.
    public static func withoutSession(
        source: SourceName,
        broker: MQTTBroker,
        topics: [MQTTTopic]
    ) -> MQTTPushConfiguration {
        MQTTPushConfiguration(
            source: source,
            broker: broker,
            topics: topics,
            clientID: .random(),
            cleanStart: true,
            sessionExpiry: .zero
        )
    }

    /// The maximum size of a packet from the broker, in bytes: four times the `bytes` of ``limits``, but never more
    /// than MQTT allows.
    ///
    /// An MQTT 5 broker silently discards larger messages (MQTT 5.0, 3.1.2.11.4).
    public var packetLimit: Int {
        min(4 * limits.bytes, MQTTPushConfiguration.largestPacket)
    }
}

extension MQTTPushConfiguration {
    /// Checks that all values are in range and that no two values conflict.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first problem found. The error names the source and
    ///   says how to fix the problem.
    public func validate() throws(MQTTPushError) {
        do {
            try validateTopics(topics)
            try validateConnections()
            try validateBrokerSettings()
            try validateSession()
            try validateBounds()
            try deliveries?.validate()
            try validatePublishing()
        } catch {
            throw error.about(source)
        }
    }

    private func validateConnections() throws(MQTTPushError) {
        guard connections.count <= 16 else { throw .invalid("a push source can have at most 16 further connections") }
        var names: Set<String> = []
        for connection in connections {
            try connection.validate()
            guard names.insert(connection.name).inserted else {
                throw .invalid("two connections are named \(connection.name); give each its own name")
            }
            try validateTopics(connection.topics)
        }
    }

    private func validateTopics(_ topics: [MQTTTopic]) throws(MQTTPushError) {
        guard (1...1_000).contains(topics.count) else { throw .invalid("a connection must have 1 to 1000 topics") }
        var filters: Set<String> = []
        for topic in topics {
            try topic.validate()
            guard filters.insert(topic.pattern.filter.text).inserted else {
                let filter = topic.pattern.filter.text.debugDescription
                throw .invalid("two topics subscribe to \(filter); only the first would be used")
            }
        }
    }

    func validateSession() throws(MQTTPushError) {
        let isExpiryValid = sessionExpiry.isWholeSeconds(in: 0...4_294_967_294)
        let idRule = "a session needs a fixed client id; with a random id use clean start and no session expiry"
        let versionRule =
            "MQTT 3.1.1 cannot discard a session and keep the next one; use clean start or a session expiry, not both"
        try MQTTPushError.check([
            (isExpiryValid, "the session expiry must be a whole number of seconds, 0 to 4294967294"),
            (!clientID.isRandom || (cleanStart && sessionExpiry == .zero), idRule),
            (version != .v311 || !cleanStart || sessionExpiry == .zero, versionRule),
        ])
    }

    private func validateBounds() throws(MQTTPushError) {
        try MQTTPushError.check([
            (1...65_535 ~= receiveMaximum, "the receive maximum must be 1 to 65535"),
            (1...8 * 1024 * 1024 ~= heldBytes, "the held bytes must be 1 byte to 8 MiB"),
            (1...65_536 ~= cachedTopics, "the cached topics must be 1 to 65536"),
            (
                coalesce.map { .microseconds(200) ... .milliseconds(10) ~= $0 } ?? true,
                "the value of coalesce must be 200 us to 10 ms, or none"
            ),
            (.milliseconds(10) ... .seconds(3_600) ~= ackDeadline, "the ack deadline must be 10 ms to 1 h"),
            (.zero ... .seconds(3_600) ~= lingerTimeout, "the linger timeout must be 0 to 1 h"),
        ])
    }
}

extension MQTTPushConfiguration {
    /// The configurations of all connections, beginning with the source's own connection. They have no further
    /// connections themselves.
    package var perConnection: [MQTTPushConfiguration] {
        var first = self
        first.connections = []
        let others = connections.map { connection in
            var other = first
            other.topics = connection.topics
            other.formerTopics = connection.formerTopics
            other.clientID = clientID.with(suffix: connection.name)
            other.will = nil
            other.connectionName = connection.name
            other.deliveries?.file += ".\(connection.name)"
            return other
        }
        return [first] + others
    }
}

/// An additional connection of a push source, with separate topics.
///
/// A source rarely needs one, because a slow message does not delay other messages of its connection. An additional
/// connection has a separate session, so the broker's limits for waiting and unacknowledged messages apply to it
/// separately. Its client id is the source's client id, followed by `-` and the connection's name.
public struct MQTTConnection: Sendable, Hashable {
    /// The name. It must be unique within the source and consist of 1 to 64 letters, digits, `.`, `_` and `-`.
    public var name: String
    /// The subscriptions, from 1 to 1,000. If several subscriptions match a message's topic, the first of them
    /// determines how the message is read.
    public var topics: [MQTTTopic]
    /// The same as ``MQTTPushConfiguration/formerTopics``, for this connection.
    package var formerTopics: [MQTTTopic] = []

    /// Creates a connection.
    public init(name: String, topics: [MQTTTopic]) {
        self.name = name
        self.topics = topics
    }

    func validate() throws(MQTTPushError) {
        let isAllowed = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "._-".utf8.contains(byte)
            }
        }
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(isAllowed) else {
            throw .invalid("a connection's name must have 1 to 64 letters, digits, '.', '_' and '-'")
        }
    }
}
