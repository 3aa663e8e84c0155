import Logging
import SignalboxCore

/// What a push source says to the log: never a payload, a topic of a message, or a secret. Belongs to one thread.
final class PushLog {
    private let logger: Logger
    private let source: SourceName
    private let broker: MQTTBroker
    private var limit = LogLimit()
    private var saidEnd = true

    init(_ logger: Logger, configuration: MQTTPushConfiguration) {
        source = configuration.source
        broker = configuration.broker
        var logger = logger
        logger[metadataKey: "source"] = .string(configuration.source.text)
        self.logger = logger
    }

    /// One line for each connection whose predecessor's end had one, so that good news follows bad.
    func connected(sessionPresent: Bool) {
        guard saidEnd else { return }
        saidEnd = false
        let session = sessionPresent ? "the session was kept" : "with a new session"
        logger.info("\(sentence("connected to broker \(broker), \(session)"))")
    }

    /// Told at each connection, of which backoff allows few: programs wait for this line.
    func subscribed(_ count: Int) {
        logger.info("\(sentence("subscribed to \(count) topic filters"))")
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

    func leftUnacknowledged(_ count: Int) {
        logger.info("\(sentence("\(count) messages were not acknowledged and come again"))")
    }

    func stopped() {
        logger.info("\(sentence(ConnectionEnd.stopped.sentence(about: broker)))")
    }

    func ended(_ end: ConnectionEnd, nextTry: Duration) {
        let level: Logger.Level = end.isConfigurationFault ? .error : .warning
        let text = "\(end.sentence(about: broker)); next try in \(PushLog.shown(nextTry))"
        saidEnd = say(level, end.kind, text) || saidEnd
    }

    @discardableResult
    private func say(_ level: Logger.Level, _ kind: String, _ text: String) -> Bool {
        guard let withheld = limit.admit(kind, at: .now) else { return false }
        let more = withheld == 0 ? "" : " (\(withheld) more such lines in the meantime were not shown)"
        logger.log(level: level, "\(sentence(text))\(more)")
        return true
    }

    private func sentence(_ text: String) -> String {
        "source \(source): \(text)"
    }

    private static func shown(_ wait: Duration) -> String {
        let tenths = (wait.components.seconds * 10) + wait.components.attoseconds / 100_000_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
