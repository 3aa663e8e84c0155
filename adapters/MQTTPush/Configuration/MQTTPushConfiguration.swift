import AdapterSupport
public import SignalboxCore
import SignalboxRoutes

/// The configuration of a push source, which ``MQTTPushAdapter`` validates.
///
/// A source uses MQTT 5 or 3.1.1, at QoS 0 and 1. QoS 2 is not supported, because libmosquitto cannot guarantee its
/// delivery.
public struct MQTTPushConfiguration: Sendable, Hashable {
    /// The maximum size of an MQTT packet, in bytes (MQTT 5.0, 2.1.4).
    static let largestPacket = 268_435_455

    /// The name of the source, which access rules and log lines use.
    public var source: SourceName
    /// The broker.
    public var broker: MQTTBroker
    /// The subscriptions, from 1 to 1,000. The first one that matches a topic decides how the messages on that topic
    /// are read.
    public var topics: [MQTTTopic]
    /// The id under which the broker keeps the session.
    public var clientID: MQTTClientID
    /// Whether the first connection of a run discards the session at the broker. The default is `false`.
    public var cleanStart: Bool
    /// How long the broker keeps the session and its messages while the source is disconnected. The valid range is 0
    /// (no session) to 2^32 - 2 s, in whole seconds. The default is 1 h.
    public var sessionExpiry: Duration
    /// The maximum time without traffic before the source sends a ping, in whole seconds. It is 0 for no pings, or 5 to
    /// 65,535 s. The default is 30 s.
    public var keepalive: Duration = .seconds(30)
    /// The user name, which is read at each connection. The default is `nil`, for a connection without a user name.
    public var username: Secret?
    /// The password, which is read at each connection and requires a user name. The default is `nil`.
    public var password: Secret?
    /// The protocol version. The default is MQTT 5.
    public var version: MQTTVersion = .v5
    /// The security of the connection. By default, a connection to an `mqtts://` broker uses TLS and trusts the
    /// authorities that the system trusts.
    public var security: MQTTSecurity
    /// The message that the broker publishes if the source's own connection ends without DISCONNECT. The default is
    /// `nil`, for no message. The further ``connections`` have no will.
    public var will: MQTTWill?
    /// Further connections, at most 16, each with its own topics, thread and session. By default, the source has only
    /// its own connection.
    public var connections: [MQTTConnection] = []
    /// The name of the connection that this configuration is for. `nil` for the source's own connection.
    var connectionName: String?
    /// Whether the adapter submits `signalbox.sessionLost` when the broker has lost the session. The default is
    /// `false`.
    public var announcesConnections = false
    /// The maximum number of unacknowledged QoS 1 messages that the broker may send. The valid range is 1 to 65,535.
    /// The default is 250.
    ///
    /// Keep this number far below the queue limit of the broker, because a broker silently drops messages beyond its
    /// limit. For mosquitto, the limit is `max_queued_messages`, which is 1,000 by default.
    public var receiveMaximum = 250
    /// The limits of one message. A message that exceeds them, but not ``packetLimit``, is rejected and acknowledged.
    public var limits = MessageLimits()
    /// The maximum number of messages in a batch. The valid range is 1 to ``receiveMaximum``. The default is 250. A
    /// connection reads no further messages until the batch is settled.
    public var batchMessages = 250
    /// The size at which a batch is full, in bytes. The valid range is 1 byte to 8 MiB. The default is 4 MiB. It counts
    /// the messages and an estimate of the memory for their facts, such as MQTT 5 properties and new topics. The last
    /// message of a batch may exceed this size.
    public var batchBytes = 4 * 1024 * 1024
    /// The ack deadline of the supervisor. The valid range is 10 ms to 1 h. The default is 5 s. The adapter adapts the
    /// size of its batches, so that even a slow plugin settles each batch in a fraction of this time.
    public var ackDeadline: Duration = .seconds(5)
    /// How long to wait for the broker to answer CONNECT, SUBSCRIBE and UNSUBSCRIBE, and to accept acknowledgements.
    /// The valid range is 100 ms to 1 h. The default is 10 s.
    ///
    /// After this time, the source disconnects and tries again. The TCP connection attempt itself is bounded by the
    /// operating system instead, which takes about two minutes on Linux. A stop does not wait for the attempt.
    public var answerTimeout: Duration = .seconds(10)
    /// How long a stop waits for the broker to read the last acknowledgements. The valid range is 0 to 1 h. The default
    /// is 1 s. If the broker has not read them by then, it may redeliver messages that were handled.
    public var lingerTimeout: Duration = .seconds(1)
    /// The back-off between connection attempts.
    public var reconnect = MQTTReconnect()
    /// Whether a run throws an error such as `notConnected` if its first connection fails, and `subscriptionRefused` if
    /// the broker refuses every topic filter before it has granted any. The default is `false`.
    ///
    /// Use `true` for a command in a terminal, where a person can fix the error. A service should keep trying instead.
    public var firstConnectionMustSucceed = false
    /// The number of topics whose origins are cached. The valid range is 1 to 65,536. The default is 1,024. When the
    /// cache is full, it is cleared. A cached topic uses 4 times its length plus about 512 bytes of memory. Topics
    /// longer than 1 KiB are not cached.
    public var cachedTopics = 1_024
    /// The limit on deliveries of a message whose handling makes the process crash. By default, deliveries are not
    /// limited.
    public var deliveries: MQTTDeliveryLimit?
    /// How the source publishes. By default, it does not: there is no second connection, no reply and no sender.
    public var publishing: MQTTPublishing?

    /// Creates a source with a session, so the broker queues messages for the source while it is disconnected.
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

    /// Creates a source without a session, under a random client id.
    ///
    /// Use this for a source that needs messages only while it is connected, because the broker queues none for it.
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

    /// The maximum size of a packet from the broker, in bytes, which is four times the message limit. The broker
    /// silently discards larger messages (MQTT 5.0, 3.1.2.11.4).
    public var packetLimit: Int {
        min(4 * limits.bytes, MQTTPushConfiguration.largestPacket)
    }
}

extension MQTTPushConfiguration {
    /// Checks that every value is in its range and that no values conflict.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first error, with the name of the source and advice.
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

    private func validateSession() throws(MQTTPushError) {
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
        let batchRule = "a batch must have at least 1 message and at most the receive maximum (\(receiveMaximum))"
        try MQTTPushError.check([
            (1...65_535 ~= receiveMaximum, "the receive maximum must be 1 to 65535"),
            (batchMessages >= 1 && batchMessages <= receiveMaximum, batchRule),
            (1...8 * 1024 * 1024 ~= batchBytes, "a batch's bytes must be 1 to 8 MiB"),
            (1...65_536 ~= cachedTopics, "the cached topics must be 1 to 65536"),
            (.milliseconds(10) ... .seconds(3_600) ~= ackDeadline, "the ack deadline must be 10 ms to 1 h"),
            (.zero ... .seconds(3_600) ~= lingerTimeout, "the linger timeout must be 0 to 1 h"),
        ])
    }
}

extension MQTTPushConfiguration {
    /// The configuration of each connection, beginning with the source's own connection.
    var perConnection: [MQTTPushConfiguration] {
        var first = self
        first.connections = []
        let others = connections.map { connection in
            var other = first
            other.topics = connection.topics
            other.clientID = clientID.with(suffix: connection.name)
            other.will = nil
            other.connectionName = connection.name
            other.deliveries?.file += ".\(connection.name)"
            return other
        }
        return [first] + others
    }
}

/// A further connection of a push source, with its own topics.
///
/// Use a further connection for urgent topics, because its messages never wait for a batch of another connection. It
/// has its own thread, session and client id. The client id is that of the source, followed by `-` and the name of the
/// connection.
public struct MQTTConnection: Sendable, Hashable {
    /// The name, which is unique within the source. It consists of 1 to 64 letters, digits, `.`, `_` and `-`.
    public var name: String
    /// The subscriptions, from 1 to 1,000. The first one that matches a topic decides how the messages on that topic
    /// are read.
    public var topics: [MQTTTopic]

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
