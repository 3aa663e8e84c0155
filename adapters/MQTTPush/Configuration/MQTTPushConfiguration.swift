public import SignalboxCore

/// Everything a push source is told. ``MQTTPushAdapter`` validates it.
///
/// MQTT 5 or 3.1.1, QoS 0 or 1: with libmosquitto, QoS 2 cannot promise that nothing is lost.
public struct MQTTPushConfiguration: Sendable {
    /// The largest packet of MQTT, in bytes (MQTT 5.0, 2.1.4).
    static let largestPacket = 268_435_455

    /// The configured source whose arrivals these are.
    public var source: SourceName
    /// The broker.
    public var broker: MQTTBroker
    /// The subscriptions, 1 to 1,000. The first that matches a topic decides about its messages.
    public var topics: [MQTTTopic]
    /// Under which id the broker keeps the session.
    public var clientID: MQTTClientID
    /// Whether the first connection of a run discards what the broker kept; `false` by default.
    public var cleanStart: Bool
    /// How long the broker keeps session and messages while the source is away, in whole seconds, 0 (no session) to
    /// 2^32 - 2; 1 h by default.
    public var sessionExpiry: Duration
    /// The longest silence before a ping, in whole seconds: 0 (none) or 5 to 65,535; 30 s by default.
    public var keepalive: Duration = .seconds(30)
    /// The user name, read at each connection; none by default.
    public var username: Secret?
    /// The password, read at each connection; needs a user name; none by default.
    public var password: Secret?
    /// Which MQTT is spoken; 5 by default.
    public var version: MQTTVersion = .v5
    /// How the connection is protected: by default TLS with the system's trust where the broker is one of `mqtts://`.
    public var security: MQTTSecurity
    /// What the broker publishes when the connection breaks without a goodbye; nothing by default. Only of the source's
    /// first connection, not of ``connections``.
    public var will: MQTTWill?
    /// Further connections, at most 16, each with topics, thread and session of its own; none by default.
    public var connections: [MQTTConnection] = []
    /// Which of ``connections`` this is the configuration of; the source's own has no name.
    var connectionName: String?
    /// Whether `signalbox.sessionLost` is submitted when the broker has lost the session; `false` by default.
    public var announcesConnections = false
    /// How many unacknowledged QoS 1 messages the broker may send, 1 to 65,535; 250 by default.
    ///
    /// Stay far below the broker's own queue limit (mosquitto's `max_queued_messages`, 1,000 unless told otherwise):
    /// beyond that it drops messages without a word.
    public var receiveMaximum = 250
    /// The bounds of one message; what exceeds them, up to ``packetLimit``, is a rejected arrival and is acknowledged.
    public var limits = MessageLimits()
    /// The most messages of one batch, 1 to ``receiveMaximum``; 250 by default. When it is reached reading pauses.
    public var batchMessages = 250
    /// The bytes at which a batch is full, 1 to 8 MiB; 4 MiB by default: those of the messages, and an estimate of those
    /// of their facts (MQTT 5 properties, topics not seen before). One message may reach over it.
    public var batchBytes = 4 * 1024 * 1024
    /// How long the supervisor holds an arrival at most, 10 ms to 1 h; 5 s by default. Batches are sized so that a slow
    /// plugin settles them in a part of it.
    public var holdLimit: Duration = .seconds(5)
    /// How long to wait for the broker's answers to CONNECT, SUBSCRIBE and UNSUBSCRIBE, and for it to take
    /// acknowledgements, 100 ms to 1 h; 10 s by default. A broker that does not is left and tried again. The operating system bounds the TCP connection itself (about two minutes on Linux); a stop does
    /// not wait for that.
    public var answerTimeout: Duration = .seconds(10)
    /// How long a stop waits at most until the broker has read the last acknowledgements, 0 to 1 h; 1 s by default. When it
    /// is over, messages that were handled may come again.
    public var farewellTimeout: Duration = .seconds(1)
    /// The waits between connections.
    public var reconnect = MQTTReconnect()
    /// Whether a run throws `notConnected` when its first connection fails, and `subscriptionRefused` when the broker
    /// refuses every topic filter before it ever granted one, as a command at a terminal should, instead of trying again
    /// and waiting as a service should; `false` by default.
    public var firstConnectionMustSucceed = false
    /// How many topics' origins are remembered, 1 to 65,536; 1,024 by default. When full, all are forgotten at once.
    /// A topic longer than 1 KiB is not remembered; a remembered one takes 4 times its length and about 512 bytes.
    public var rememberedTopics = 1_024
    /// How often a message is delivered if the process dies while handling it; `nil` (default): without limit.
    public var deliveries: MQTTDeliveryLimit?
    /// How the source publishes; `nil` (default): there is no second connection, and nothing can be answered or sent.
    public var publishing: MQTTPublishing?

    /// A source with a session: messages that come while it is away wait at the broker.
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

    /// A source without a session, under a random client id: it hears what is published while it is connected.
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

    /// The largest packet the broker may send, in bytes: four times the message limit. A larger message it discards
    /// without telling anyone (MQTT 5.0, 3.1.2.11.4).
    public var packetLimit: Int {
        min(4 * limits.bytes, MQTTPushConfiguration.largestPacket)
    }
}
