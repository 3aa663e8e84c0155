import AdapterSupport
import Logging

/// The log output of a push source, without payloads, topics of messages, or secrets. Belongs to one thread.
final class PushLog {
    private let log: AdapterLog
    private let broker: MQTTBroker
    private let prefix: String
    private var hasLoggedDisconnect = true

    init(_ logger: Logger, configuration: MQTTPushConfiguration) {
        log = AdapterLog(logger, source: configuration.source)
        broker = configuration.broker
        prefix = configuration.connectionName.map { "connection \($0): " } ?? ""
    }

    /// Logs the first connection, and each one after a logged disconnection, so that each logged loss has its recovery.
    func connected(sessionPresent: Bool) {
        guard hasLoggedDisconnect else { return }
        hasLoggedDisconnect = false
        let session = sessionPresent ? "session resumed" : "new session"
        write(.info, "connected to broker \(broker), \(session)")
    }

    /// Logged at each run.
    func insecure() {
        write(
            .warning,
            "the certificate of broker \(broker) is not verified: anyone on the network path can read and change all "
                + "traffic. Name the file of its authority instead"
        )
    }

    /// Logged at each connection, because programs wait for this line; back-off keeps connections rare.
    func subscribed(_ count: Int) {
        write(.info, "subscribed to \(count) topic filters")
    }

    func sessionLost() {
        writeLimited(
            .warning,
            "session",
            "broker \(broker) lost the session: messages sent while the source was disconnected may be missing. Check "
                + "the broker's persistence and the session expiry"
        )
    }

    func refused(_ filter: String, _ code: ReasonCode) {
        writeLimited(
            .error,
            "filter \(filter)",
            "broker \(broker) refused the subscription to \(filter.debugDescription): \(code.text). Its messages do "
                + "not arrive: change the topic or the broker's access rules, and start again"
        )
    }

    func downgraded(_ filter: String) {
        writeLimited(
            .warning,
            "filter \(filter)",
            "broker \(broker) grants only QoS 0 for \(filter.debugDescription): messages may be lost"
        )
    }

    func unexpected(_ count: Int) {
        writeLimited(.warning, "unexpected", "broker \(broker) sent \(count) messages without a subscription")
    }

    func ignored(_ count: Int) {
        writeLimited(.info, "ignored", "\(count) retained messages were dropped, as configured")
    }

    func leftUnacknowledged(_ count: Int) {
        write(
            .info,
            "\(count) messages were not acknowledged: QoS 1 messages are redelivered, QoS 0 messages are lost"
        )
    }

    func deliveriesNotCounted(_ file: String, _ why: String) {
        writeLimited(
            .warning,
            "deliveries",
            "deliveries are not counted because \(file) cannot be used: \(why). A message that ends the program will do so "
                + "on every delivery; name a file that this user can write"
        )
    }

    func stopped() {
        write(.info, BrokerDisconnectReason.stopped.message(for: broker))
    }

    func disconnected(_ reason: BrokerDisconnectReason, retryDelay: Duration) {
        let level: Logger.Level = reason.isConfigurationError ? .error : .warning
        let text = "\(reason.message(for: broker)); retrying in \(retryDelay.secondsDescription)"
        hasLoggedDisconnect = writeLimited(level, reason.kind, text) || hasLoggedDisconnect
    }

    private func write(_ level: Logger.Level, _ text: String) {
        log.write(level, prefix + text)
    }

    @discardableResult
    private func writeLimited(_ level: Logger.Level, _ kind: String, _ text: String) -> Bool {
        log.writeLimited(level, kind, prefix + text)
    }
}

/// The log output of a publisher. Frequent events get at most one line per kind and minute. Any thread.
final class PublishLog: Sendable {
    private let log: AdapterLog
    private let broker: MQTTBroker

    init(_ logger: Logger, configuration: MQTTPublisherConfiguration) {
        log = AdapterLog(logger, source: configuration.source)
        broker = configuration.broker
    }

    func connected() {
        log.write(.info, "publisher connected to broker \(broker)")
    }

    /// Logged at each run.
    func insecure() {
        log.write(
            .warning,
            "the publisher does not verify the certificate of broker \(broker): anyone on the network path can read and "
                + "change all traffic. Name the file of its authority instead"
        )
    }

    /// Logs an offered message that was accepted but not published.
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
        log.writeLimited(
            .warning,
            "unansweredRequest \(reason)",
            "a request was not answered on \(topic.prefix(256).debugDescription): \(reason)"
        )
    }

    func stopped(_ left: Int) {
        let rest = left == 0 ? "" : "; \(left) messages were not published"
        log.write(left == 0 ? .info : .warning, "publisher stopped" + rest)
    }

    func disconnected(_ reason: BrokerDisconnectReason, retryDelay: Duration) {
        log.writeLimited(
            reason.isConfigurationError ? .error : .warning,
            "publisher \(reason.kind)",
            "publisher: \(reason.message(for: broker)); retrying in \(retryDelay.secondsDescription)"
        )
    }
}
