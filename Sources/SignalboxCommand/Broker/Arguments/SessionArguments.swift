import ArgumentParser
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The options for a session that the broker keeps after the command has ended.
struct SessionArguments: ParsableArguments {
    /// How long the broker keeps a session by default.
    private static let defaultExpiry: Duration = .seconds(3_600)
    /// The topics of the messages that may wait in the session, which may have more subscriptions than these arguments.
    private static let everyTopic = ["#", "$SYS/#"].compactMap { filter in
        (try? TopicPattern(filter)).map { MQTTTopic($0, payload: .bytes, action: MessageRun.action) }
    }

    @Flag(help: "Have the broker keep the subscriptions, and the messages after the end of the command; requires --id.")
    var keepSession = false

    @Option(
        help: ArgumentHelp("How long the broker keeps the session: whole seconds; default 1h.", valueName: "time"),
        transform: TimeoutOption.duration
    )
    var sessionExpiry: Duration?

    @Flag(
        help:
            "End the --topic subscriptions of the session --id and keep its messages; without --topic, end the session."
    )
    var unsubscribe = false

    /// Applies the options to a source with the client options.
    ///
    /// - Parameter isCounted: Whether the command ends after a number of messages. The broker then sends one message at
    ///   a time, so that it does not count later ones as delivered.
    func apply(
        to push: inout MQTTPushConfiguration,
        isCounted: Bool
    ) throws(ValidationError) {
        guard keepSession || unsubscribe else {
            guard sessionExpiry == nil else {
                throw ValidationError("--session-expiry requires a session; add --keep-session")
            }
            return
        }
        guard !push.clientID.isRandom else {
            throw ValidationError("the broker keeps a session under the client's id; add --id")
        }
        if let sessionExpiry,
            sessionExpiry.components.attoseconds != 0 || sessionExpiry.components.seconds > 4_294_967_294
        {
            throw ValidationError("--session-expiry must be a whole number of seconds, 1s to 4294967294s")
        }
        guard sessionExpiry == nil || push.version == .v5 else {
            throw ValidationError("MQTT 3.1.1 has no session expiry; remove --session-expiry or --v311")
        }
        push.cleanStart = false
        push.sessionExpiry = sessionExpiry ?? SessionArguments.defaultExpiry
        push.otherTopics = SessionArguments.everyTopic
        if isCounted { push.receiveMaximum = 1 }
    }
}
