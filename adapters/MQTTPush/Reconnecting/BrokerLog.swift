#if MQTT
import AdapterSupport
import Logging
import Synchronization

/// Writes the log lines of one client of a broker.
///
/// Log lines never contain payloads, topics of received messages, or secrets. For events that can occur often, at most
/// one line is logged per kind of event per minute. A log is safe to use from any thread.
final class BrokerLog: Sendable {
    private let log: AdapterLog
    private let settings: any BrokerSettings
    /// The broker of the connection or of the attempt to connect.
    private let current: Mutex<(tried: MQTTBroker, connected: MQTTBroker)>
    private let hasLoggedDisconnect = Atomic(true)
    private let connection: ConnectionState

    /// - Parameter connection: Updated when the client has subscribed, and when it has lost its connection.
    init(_ logger: Logger, configuration: some BrokerSettings, connection: ConnectionState = ConnectionState()) {
        self.connection = connection
        log = AdapterLog(logger, source: configuration.source, prefix: configuration.logPrefix)
        settings = configuration
        current = Mutex((configuration.broker, configuration.broker))
    }

    private var broker: MQTTBroker { current.withLock { $0.tried } }
    private var hasOneBroker: Bool { settings.furtherBrokers.isEmpty }

    /// Names this broker in the lines from now on.
    func use(_ broker: MQTTBroker) {
        current.withLock { $0.tried = broker }
    }

    // MARK: - Connections

    /// Logs the first connection, and each connection after a logged disconnection. Every logged loss is therefore
    /// followed by a logged recovery.
    ///
    /// - Parameter session: A text about the session, to be appended to the line.
    func connected(_ session: String = "") {
        let isOther = current.withLock { current in
            defer { current.connected = current.tried }
            return current.connected != current.tried
        }
        guard hasLoggedDisconnect.exchange(false, ordering: .relaxed) || isOther else { return }
        log.write(.info, "connected to broker \(broker)\(session)")
    }

    /// Warns at the start of a run that the broker's certificate is not verified.
    func insecure() {
        log.write(
            .warning,
            "the certificate of \(hasOneBroker ? "broker \(broker)" : "each broker") is not verified: anyone on the network "
                + "path can read and change all traffic. \(settings.text(of: .authority)) instead"
        )
    }

    /// Logs the end of a connection, or of an attempt to connect.
    ///
    /// - Parameters:
    ///   - message: What happened at the broker.
    ///   - next: The broker of the next attempt.
    func disconnected(_ message: String, _ reason: BrokerDisconnectReason, retryDelay: Duration, next: MQTTBroker) {
        connection.closed(message)
        let level: Logger.Level = reason.isConfigurationError ? .error : .warning
        let target = next == broker ? "" : " with broker \(next)"
        let attempt =
            retryDelay == .zero
            ? "trying broker \(next) at once" : "retrying\(target) in \(retryDelay.secondsDescription)"
        let text = "\(message); \(attempt)"
        // Each broker of a list has its own lines, so that the failure of one does not hide that of another.
        let kind = hasOneBroker ? reason.kind : "\(reason.kind) \(broker)"
        if log.writeLimited(level, kind, text) { hasLoggedDisconnect.store(true, ordering: .relaxed) }
    }

    /// Logs that connections keep ending soon after they opened, with the most likely cause.
    func lostRepeatedly(_ count: Int, within limit: Duration) {
        log.writeLimited(
            .error,
            "lostRepeatedly",
            "the last \(count) connections\(hasOneBroker ? " to broker \(broker)" : "") were lost within \(limit.secondsDescription) of connecting: "
                + "another client may use the client id \(settings.clientID.text.debugDescription). Give each client its own id"
        )
    }

    /// Warns of what the broker has changed about the session.
    func changed(_ connack: Connack, sessionExpiry: UInt32) {
        if let expiry = connack.sessionExpiry, expiry < sessionExpiry {
            log.writeLimited(
                .warning,
                "sessionExpiry",
                "broker \(broker) keeps the session for \(expiry) s only, not for \(sessionExpiry) s: messages are lost "
                    + "while the source is disconnected for longer"
            )
        }
        if connack.hasAssignedClientID {
            let text = "broker \(broker) assigned a client id although it has one, which is ignored: check the session"
            log.writeLimited(.warning, "assignedClientID", text)
        }
    }

    // MARK: - Receiving

    /// Logs a connection's subscriptions. This line is never withheld, because programs wait for it. It cannot become
    /// too frequent, because the back-off limits the number of connections.
    func subscribed(_ count: Int) {
        if count > 0 {
            connection.opened()
        } else {
            connection.closed("broker \(broker) has refused every subscription")
        }
        log.write(.info, "subscribed to \(count) topic \(count == 1 ? "filter" : "filters")")
    }

    func sessionLost() {
        log.writeLimited(
            .warning,
            "session",
            "broker \(broker) lost the session: messages sent while the source was disconnected may be missing. Check "
                + "the broker's persistence and the session expiry"
        )
    }

    func refused(_ filter: String, _ code: ReasonCode) {
        log.writeLimited(
            .error,
            "filter \(filter)",
            "broker \(broker) refused the subscription to \(filter.debugDescription): \(code.text). Its messages do "
                + "not arrive: change the topic or the broker's access rules, and start again"
        )
    }

    func stillSubscribed(_ filter: String, _ code: ReasonCode) {
        log.writeLimited(
            .warning,
            "filter \(filter)",
            "broker \(broker) refused to end the subscription to \(filter.debugDescription): \(code.text). Its messages "
                + "still arrive"
        )
    }

    func downgraded(_ filter: String) {
        let text = "broker \(broker) grants only QoS 0 for \(filter.debugDescription): messages may be lost"
        log.writeLimited(.warning, "filter \(filter)", text)
    }

    func unexpected(_ count: Int) {
        log.writeLimited(
            .warning,
            "unexpected",
            "broker \(broker) sent \(BrokerLog.messages(count)) without a subscription"
        )
    }

    func ignored(_ count: Int) {
        log.writeLimited(
            .info,
            "ignored",
            "\(count) retained \(count == 1 ? "message was" : "messages were") dropped, as configured"
        )
    }

    /// Logs QoS 0 messages that the supervisor or a plugin returned.
    func lost(_ count: Int) {
        log.writeLimited(
            .warning,
            "lost",
            "\(count) QoS 0 \(count == 1 ? "message was abandoned and is" : "messages were abandoned and are") lost, because "
                + "the broker does not redeliver \(count == 1 ? "it" : "them"). Subscribe at QoS 1 if that matters"
        )
    }

    func leftUnacknowledged(_ count: Int) {
        log.write(
            .info,
            "\(BrokerLog.messages(count)) \(count == 1 ? "was" : "were") not acknowledged: QoS 1 messages are redelivered, QoS 0 messages are lost"
        )
    }

    func deliveriesNotCounted(_ file: String, _ why: String) {
        log.writeLimited(
            .warning,
            "deliveries",
            "deliveries are not counted because \(file) cannot be used: \(why). A message that ends the program will do so "
                + "on every delivery; name a file that this user can write"
        )
    }

    func stopped() {
        log.write(.info, "disconnected from broker \(current.withLock { $0.connected })")
    }

    // MARK: - Publishing

    /// Logs that an offered message was accepted but not published.
    func notPublished(_ topic: String, _ error: MQTTPublishError) {
        log.writeLimited(
            error.code == .stopped ? .warning : .error,
            "notPublished \(error.code) \(error.reasonCode ?? 0)",
            "a message to \(topic.prefix(256).debugDescription) was not published: \(error.detail)"
        )
    }

    func replyTopicRefused(_ code: ReasonCode) {
        log.writeLimited(
            .error,
            "replyTopic",
            "broker \(broker) refused the subscription to the publisher's reply topic: \(code.text). Requests get no "
                + "reply: allow the subscription, or configure another reply topic"
        )
    }

    /// Logs a request that is not answered. The response topic is untrusted, so it is escaped and cut to 256
    /// characters.
    func unansweredRequest(_ topic: String, _ reason: String) {
        let text = "a request was not answered on \(topic.prefix(256).debugDescription): \(reason)"
        log.writeLimited(.warning, "unansweredRequest \(reason)", text)
    }

    /// Logs the end of a publisher's run.
    ///
    /// - Parameter left: The number of messages that were not published.
    func stopped(_ left: Int) {
        let rest = left == 0 ? "" : "; \(BrokerLog.messages(left)) \(left == 1 ? "was" : "were") not published"
        log.write(left == 0 ? .info : .warning, "stopped" + rest)
    }

    private static func messages(_ count: Int) -> String { count == 1 ? "1 message" : "\(count) messages" }
}
#endif
