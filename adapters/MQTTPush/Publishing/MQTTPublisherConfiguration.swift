public import SignalboxCore

/// How a publisher connects, and its bounds.
public struct MQTTPublisherConfiguration: Sendable {
    /// Whom log lines are about.
    public var source: SourceName
    /// The broker.
    public var broker: MQTTBroker
    /// Under which id the broker knows the publisher; a random one by default. It needs no session.
    public var clientID: MQTTClientID
    /// The protocol version; 5 by default. With 3.1.1 a broker cannot say that it refused a message, and requests have no
    /// response topic.
    public var version: MQTTVersion = .v5
    /// How the connection is protected: by default TLS with the system's trust where the broker is one of `mqtts://`.
    public var security: MQTTSecurity
    /// The user name, read at each connection; none by default.
    public var username: Secret?
    /// The password, read at each connection; needs a user name; none by default.
    public var password: Secret?
    /// What the broker publishes when the connection ends without a goodbye; nothing by default.
    public var will: MQTTWill?
    /// The longest silence before a ping, in whole seconds: 0 (none) or 5 to 65,535; 30 s by default.
    public var keepalive: Duration = .seconds(30)
    /// The most messages that are queued or not acknowledged, 1 to 1,000,000; 1,000 by default. More are refused with
    /// `queueFull`, never dropped.
    public var queuedMessages = 1_000
    /// The most bytes of them, 1 KiB to 1 GiB; 16 MiB by default: payloads, topics, properties. More are refused with
    /// `queueFull`; a single message that is larger is `tooLarge`.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// The most messages that are sent and not acknowledged, 1 to 10,000; 100 by default. A broker may allow fewer.
    public var unacknowledgedMessages = 100
    /// The most requests that wait for replies, 1 to 100,000; 1,000 by default. More are refused with `queueFull`.
    public var requestsInFlight = 1_000
    /// The most bytes of a reply, 1 to 64 MiB; 1 MiB by default. Up to 4 times that ends the request with `tooLarge`; a
    /// broker throws a larger one away, and the request ends with `timeout`.
    public var replyBytes = 1_024 * 1_024
    /// Below which topic replies come: a level that cannot be guessed is added. `signalbox/replies` by default; the broker
    /// must allow the publisher to subscribe below it.
    public var replyTopic = "signalbox/replies"
    /// How long ``MQTTPublisher/publish(_:)`` waits at most, connecting included, 10 ms to 1 h; 30 s by default. What is
    /// offered waits without a limit, in the bounded queue.
    public var publishTimeout: Duration = .seconds(30)
    /// How long to wait for the broker's answer to CONNECT, for it to take what is sent, and for an acknowledgement, before
    /// the connection is given up, 100 ms to 1 h; 10 s by default.
    public var answerTimeout: Duration = .seconds(10)
    /// How long a stop waits at most until what is queued is acknowledged, 0 to 1 h; 5 s by default. The rest ends with
    /// `stopped`.
    public var stopTimeout: Duration = .seconds(5)
    /// The waits between connections.
    public var reconnect = MQTTReconnect()
    /// Whether a run throws when its first connection fails, as a command at a terminal should, instead of trying again as a
    /// service should; `false` by default.
    public var firstConnectionMustSucceed = false

    /// A publisher with a random client id.
    ///
    /// - Parameters:
    ///   - source: whom log lines are about.
    ///   - broker: where messages go.
    ///   - clientID: a random one by default.
    public init(source: SourceName, broker: MQTTBroker, clientID: MQTTClientID = .random()) {
        self.source = source
        self.broker = broker
        self.clientID = clientID
        security = broker.usesTLS ? .tls() : .none
    }
}
