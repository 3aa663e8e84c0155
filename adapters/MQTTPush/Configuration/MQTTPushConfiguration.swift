public import SignalboxCore
import SignalboxRoutes

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

extension MQTTPushConfiguration {
    /// Checks every range, and that the values go together.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first fault, with the source's name and what to do.
    public func validate() throws(MQTTPushError) {
        do {
            try validateTopics(topics)
            try validateConnections()
            try security.validate(for: broker)
            try will?.validate()
            try validateSession()
            try validateBounds()
            try validateTimes()
            try reconnect.validate()
            try deliveries?.validate()
            try validatePublishing()
        } catch {
            throw error.about(source)
        }
    }

    private func validateConnections() throws(MQTTPushError) {
        guard connections.count <= 16 else { throw fault("a push source has at most 16 further connections") }
        var names: Set<String> = []
        for connection in connections {
            try connection.validate()
            guard names.insert(connection.name).inserted else {
                throw fault("two connections are called \(connection.name); give each a name of its own")
            }
            try validateTopics(connection.topics)
        }
    }

    private func validateTopics(_ topics: [MQTTTopic]) throws(MQTTPushError) {
        guard (1...1_000).contains(topics.count) else { throw fault("a connection has 1 to 1000 topics") }
        var filters: Set<String> = []
        for topic in topics {
            try topic.validate()
            guard filters.insert(topic.pattern.filter.text).inserted else {
                let shown = topic.pattern.filter.text.debugDescription
                throw fault("two topics subscribe to \(shown); only the first would ever be used")
            }
        }
    }

    private func validateSession() throws(MQTTPushError) {
        guard sessionExpiry.isWholeSeconds(in: 0...4_294_967_294) else {
            throw fault("the session expiry is a whole number of seconds, 0 to 4294967294")
        }
        if clientID.isRandom && (!cleanStart || sessionExpiry != .zero) {
            throw fault("a session needs a fixed client id; with a random one use clean start and no session expiry")
        }
        if version == .v311 && cleanStart && sessionExpiry != .zero {
            throw fault(
                "MQTT 3.1.1 cannot discard a session and keep the next; use clean start or a session expiry, not both"
            )
        }
        if password != nil && username == nil { throw fault("a password needs a user name") }
    }

    private func validateBounds() throws(MQTTPushError) {
        guard (1...65_535).contains(receiveMaximum) else { throw fault("the receive maximum is 1 to 65535") }
        guard batchMessages >= 1, batchMessages <= receiveMaximum else {
            throw fault("a batch has at least 1 message and at most the receive maximum (\(receiveMaximum))")
        }
        guard (1...8 * 1024 * 1024).contains(batchBytes) else { throw fault("a batch's bytes are 1 to 8 MiB") }
        guard (1...65_536).contains(rememberedTopics) else { throw fault("the remembered topics are 1 to 65536") }
    }

    private func validateTimes() throws(MQTTPushError) {
        guard keepalive == .zero || keepalive.isWholeSeconds(in: 5...65_535) else {
            throw fault("the keepalive is 0 (none) or a whole number of seconds, 5 to 65535")
        }
        guard (Duration.milliseconds(10) ... .seconds(3_600)).contains(holdLimit) else {
            throw fault("the hold limit is 10 ms to 1 h")
        }
        guard (Duration.milliseconds(100) ... .seconds(3_600)).contains(answerTimeout) else {
            throw fault("the answer timeout is 100 ms to 1 h")
        }
        guard (Duration.zero ... .seconds(3_600)).contains(farewellTimeout) else {
            throw fault("the farewell timeout is 0 to 1 h")
        }
    }

    private func fault(_ detail: String) -> MQTTPushError {
        MQTTPushError(.invalidConfiguration, detail)
    }
}

extension Duration {
    func isWholeSeconds(in range: ClosedRange<Int64>) -> Bool {
        components.attoseconds == 0 && range.contains(components.seconds)
    }
}

extension MQTTPushConfiguration {
    /// What each of the source's connections is told: the source's own first.
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

/// A further connection of a push source, with topics of its own.
///
/// It has a thread, a session and a client id of its own: the source's, `-` and the connection's name. Its messages never
/// wait for a batch of another connection, so urgent topics belong on one of their own.
public struct MQTTConnection: Sendable, Hashable {
    /// Tells it apart: 1 to 64 letters, digits, `.`, `_` and `-`; once per source.
    public var name: String
    /// Its subscriptions, 1 to 1,000. The first that matches a topic decides about its messages.
    public var topics: [MQTTTopic]

    /// A connection by its name.
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
            throw MQTTPushError(
                .invalidConfiguration,
                "a connection's name has 1 to 64 letters, digits, '.', '_' and '-'"
            )
        }
    }
}
