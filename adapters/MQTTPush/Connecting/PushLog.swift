import AdapterThreads
import Logging

/// The log output of a push source, without payloads, topics of messages, or secrets. Belongs to one thread.
final class PushLog {
    private let log: AdapterLog
    private let broker: MQTTBroker
    private let place: String
    private var saidEnd = true

    init(_ logger: Logger, configuration: MQTTPushConfiguration) {
        log = AdapterLog(logger, source: configuration.source)
        broker = configuration.broker
        place = configuration.connectionName.map { "connection \($0): " } ?? ""
    }

    /// Logs the first connection, and each one after a logged disconnection, so that each logged loss has its recovery.
    func connected(sessionPresent: Bool) {
        guard saidEnd else { return }
        saidEnd = false
        let session = sessionPresent ? "the session was kept" : "with a new session"
        tell(.info, "connected to broker \(broker), \(session)")
    }

    /// Logged at each run.
    func insecure() {
        tell(
            .warning,
            "the certificate of broker \(broker) is not checked: whoever is on the way can read and change everything. "
                + "Name the file of its authority instead"
        )
    }

    /// Logged at each connection, because programs wait for this line; back-off keeps connections rare.
    func subscribed(_ count: Int) {
        tell(.info, "subscribed to \(count) topic filters")
    }

    func sessionLost() {
        say(
            .warning,
            "session",
            "broker \(broker) had lost the session: messages sent while the source was away may be missing. Check the "
                + "broker's persistence and the session expiry"
        )
    }

    func refused(_ filter: String, _ code: ReasonCode) {
        say(
            .error,
            "filter \(filter)",
            "broker \(broker) refused the subscription to \(filter.debugDescription): \(code.text). Its messages do "
                + "not come: change the topic, or the broker's access rules, and start again"
        )
    }

    func lowered(_ filter: String) {
        say(
            .warning,
            "filter \(filter)",
            "broker \(broker) grants only QoS 0 for \(filter.debugDescription): messages may be lost"
        )
    }

    func unexpected(_ count: Int) {
        say(.warning, "unexpected", "broker \(broker) sent \(count) messages that nobody subscribed to")
    }

    func ignored(_ count: Int) {
        say(.info, "ignored", "\(count) stored messages were dropped, as the configuration says")
    }

    func leftUnacknowledged(_ count: Int) {
        tell(.info, "\(count) messages were not acknowledged: at QoS 1 they come again, at QoS 0 they are lost")
    }

    func deliveriesUncounted(_ file: String, _ why: String) {
        say(
            .warning,
            "deliveries",
            "deliveries are not counted, as \(file) cannot be used: \(why). A message that ends the program will do so on "
                + "every delivery; name a file that this user may write to"
        )
    }

    func stopped() {
        tell(.info, ConnectionEnd.stopped.sentence(about: broker))
    }

    func ended(_ end: ConnectionEnd, nextTry: Duration) {
        let level: Logger.Level = end.isConfigurationFault ? .error : .warning
        let text = "\(end.sentence(about: broker)); next try in \(nextTry.shownInSeconds)"
        saidEnd = say(level, end.kind, text) || saidEnd
    }

    private func tell(_ level: Logger.Level, _ text: String) {
        log.tell(level, place + text)
    }

    @discardableResult
    private func say(_ level: Logger.Level, _ kind: String, _ text: String) -> Bool {
        log.say(level, kind, place + text)
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
        log.tell(.info, "the publisher is connected to broker \(broker)")
    }

    /// Logged at each run.
    func insecure() {
        log.tell(
            .warning,
            "the publisher does not check the certificate of broker \(broker): whoever is on the way can read and change "
                + "everything. Name the file of its authority instead"
        )
    }

    /// Logs an offered message that was accepted but not published.
    func notPublished(_ topic: String, _ error: MQTTPublishError) {
        log.say(
            error.code == .stopped ? .warning : .error,
            "notPublished \(error.code) \(error.reasonCode ?? 0)",
            "a message to \(topic.prefix(256).debugDescription) was not published: \(error.detail)"
        )
    }

    func replyTopicRefused(_ code: ReasonCode) {
        log.say(
            .error,
            "replyTopic",
            "broker \(broker) refused the subscription to the publisher's reply topic: \(code.text). No request is answered: "
                + "allow it, or configure another reply topic"
        )
    }

    /// Logs a request that is not answered. The response topic is untrusted, so it is escaped and cut to 256
    /// characters.
    func notAnswered(_ topic: String, _ reason: String) {
        log.say(
            .warning,
            "notAnswered \(reason)",
            "a request was not answered on \(topic.prefix(256).debugDescription): \(reason)"
        )
    }

    func stopped(_ left: Int) {
        let rest = left == 0 ? "" : "; \(left) messages were not published"
        log.tell(left == 0 ? .info : .warning, "the publisher has stopped" + rest)
    }

    func ended(_ end: ConnectionEnd, nextTry: Duration) {
        log.say(
            end.isConfigurationFault ? .error : .warning,
            "publisher \(end.kind)",
            "publisher: \(end.sentence(about: broker)); next try in \(nextTry.shownInSeconds)"
        )
    }
}
