import AdapterThreads
import Logging

/// What a publisher tells the log: one line for what happens seldom, one a minute of each kind for what may be often. Any
/// thread.
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

    /// Told at each run.
    func insecure() {
        log.tell(
            .warning,
            "the publisher does not check the certificate of broker \(broker): whoever is on the way can read and change "
                + "everything. Name the file of its authority instead"
        )
    }

    /// A message that nobody waits for was taken and not published.
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

    /// A request that is not answered: never more of a stranger's topic than 256 characters, escaped.
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
