import AdapterSupport
public import SignalboxCore
import SignalboxRoutes

/// The configuration of a push source. ``MQTTPushAdapter`` validates it.
///
/// Supports MQTT 5 and 3.1.1 at QoS 0 and 1, but not QoS 2, for which libmosquitto cannot guarantee delivery.
public struct MQTTPushConfiguration: Sendable, Hashable {
    /// The maximum size of an MQTT packet, in bytes (MQTT 5.0, 2.1.4).
    static let largestPacket = 268_435_455

    /// The configured source of these arrivals.
    public var source: SourceName
    /// The broker.
    public var broker: MQTTBroker
    /// The subscriptions, 1 to 1,000. The first one that matches a topic decides how its messages are read.
    public var topics: [MQTTTopic]
    /// The id under which the broker keeps the session.
    public var clientID: MQTTClientID
    /// Whether the first connection of a run discards the session at the broker; `false` by default.
    public var cleanStart: Bool
    /// How long the broker keeps the session and its messages while the source is disconnected, in whole seconds, 0 (no
    /// session) to 2^32 - 2; 1 h by default.
    public var sessionExpiry: Duration
    /// The maximum time without traffic before a ping, in whole seconds: 0 (no pings) or 5 to 65,535; 30 s by default.
    public var keepalive: Duration = .seconds(30)
    /// The user name, read at each connection; none by default.
    public var username: Secret?
    /// The password, read at each connection; requires a user name; none by default.
    public var password: Secret?
    /// The protocol version; 5 by default.
    public var version: MQTTVersion = .v5
    /// The security of the connection: for an `mqtts://` broker, TLS with the system's trust store by default.
    public var security: MQTTSecurity
    /// The message that the broker publishes if the source's own connection ends without DISCONNECT; none by default.
    /// Does not apply to ``connections``.
    public var will: MQTTWill?
    /// Further connections, at most 16, each with its own topics, thread and session; none by default.
    public var connections: [MQTTConnection] = []
    /// The name of the connection that this configuration is for; `nil` for the source's own.
    var connectionName: String?
    /// Whether to submit `signalbox.sessionLost` when the broker has lost the session; `false` by default.
    public var announcesConnections = false
    /// The maximum number of unacknowledged QoS 1 messages that the broker may send, 1 to 65,535; 250 by default.
    ///
    /// Keep this far below the broker's queue limit (mosquitto's `max_queued_messages`, 1,000 by default), beyond which
    /// it silently drops messages.
    public var receiveMaximum = 250
    /// The limits of one message. A message that exceeds them, up to ``packetLimit``, is rejected and acknowledged.
    public var limits = MessageLimits()
    /// The maximum number of messages in a batch, 1 to ``receiveMaximum``; 250 by default. Reading pauses there.
    public var batchMessages = 250
    /// The size at which a batch is full, 1 to 8 MiB; 4 MiB by default. Counts the messages and an estimate of their
    /// facts (MQTT 5 properties, new topics). The last message may exceed it.
    public var batchBytes = 4 * 1024 * 1024
    /// The supervisor's ack deadline, 10 ms to 1 h; 5 s by default. Batch sizes adapt so that a slow plugin settles
    /// each batch in a fraction of it.
    public var ackDeadline: Duration = .seconds(5)
    /// How long to wait for the broker to answer CONNECT, SUBSCRIBE and UNSUBSCRIBE, and take acknowledgements, 100 ms
    /// to 1 h; 10 s by default. After that the source disconnects and retries. The operating system bounds the TCP
    /// connection attempt itself (about two minutes on Linux); a stop does not wait for that.
    public var answerTimeout: Duration = .seconds(10)
    /// How long a stop waits for the broker to read the last acknowledgements, 0 to 1 h; 1 s by default. After that,
    /// handled messages may be redelivered.
    public var lingerTimeout: Duration = .seconds(1)
    /// The back-off between connections.
    public var reconnect = MQTTReconnect()
    /// Whether a run throws `notConnected` if its first connection fails, and `subscriptionRefused` if the broker
    /// refuses every topic filter before granting any; `false` by default. A terminal command should fail like this; a
    /// service should retry and wait.
    public var firstConnectionMustSucceed = false
    /// The number of topics whose origins are cached, 1 to 65,536; 1,024 by default. A full cache is cleared. A cached
    /// topic uses 4 times its length plus about 512 bytes. Topics longer than 1 KiB are not cached.
    public var cachedTopics = 1_024
    /// The limit on redelivering a message that the process does not survive; `nil` (default) for none.
    public var deliveries: MQTTDeliveryLimit?
    /// How the source publishes; `nil` (default) for no second connection, replies or sender.
    public var publishing: MQTTPublishing?

    /// Creates a source with a session: the broker queues messages for it while it is disconnected.
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

    /// Creates a source without a session, under a random client id. It receives messages only while connected.
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

    /// The maximum size of a packet from the broker, in bytes: four times the message limit. The broker silently
    /// discards larger messages (MQTT 5.0, 3.1.2.11.4).
    public var packetLimit: Int {
        min(4 * limits.bytes, MQTTPushConfiguration.largestPacket)
    }
}

extension MQTTPushConfiguration {
    /// Validates the range of every value and the consistency between values.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first error, with the source's name and advice.
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
    /// The configuration of each connection, beginning with the source's own.
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
/// It has its own thread, session and client id, which is the source's followed by `-` and the connection's name. Its
/// messages never wait for a batch of another connection, so it suits urgent topics.
public struct MQTTConnection: Sendable, Hashable {
    /// The name: 1 to 64 letters, digits, `.`, `_` and `-`; unique within the source.
    public var name: String
    /// The subscriptions, 1 to 1,000. The first one that matches a topic decides how its messages are read.
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
