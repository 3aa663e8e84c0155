import ArgumentParser
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The options for a broker's client: its identity, socket, keepalive and will.
struct ClientArguments: ParsableArguments {
    @Option(
        name: [.customShort("i"), .customLong("id")],
        help: ArgumentHelp(
            "The client id. The broker disconnects another client with the same id and discards its session, unless "
                + "this one keeps it. Default: random.",
            valueName: "text"
        )
    )
    var id: String?

    @Option(
        name: .customLong("unix"),
        help: ArgumentHelp("Connect to this Unix socket; TLS still uses the URL's host.", valueName: "path"),
        completion: .file()
    )
    var unixSocket: String?

    @Option(
        help: ArgumentHelp(
            "Ping the broker after this time without traffic: whole seconds, at least 5s; default 30s.",
            valueName: "time"
        ),
        transform: TimeoutOption.duration
    )
    var keepalive: Duration?

    @Option(
        help: ArgumentHelp(
            "The topic of the will, which the broker publishes if this connection breaks.",
            valueName: "topic"
        )
    )
    var willTopic: String?

    @Option(help: ArgumentHelp("The body of the will; empty by default.", valueName: "text"))
    var willBody: String?

    @Option(
        help: "The QoS of the will: 0 or 1 (default).",
        completion: .list(["0", "1"]),
        transform: MQTTQoS.option
    )
    var willQos: MQTTQoS?

    @Flag(help: "Have the broker retain the will for later subscribers.")
    var willRetain = false

    func validate() throws {
        _ = try clientID
        let options = [
            ("--will-body", willBody != nil), ("--will-qos", willQos != nil), ("--will-retain", willRetain),
        ]
        if willTopic == nil, let option = options.first(where: \.1)?.0 {
            throw ValidationError("\(option) requires a will; add --will-topic")
        }
    }

    /// Applies the options to a source.
    func apply(to push: inout MQTTPushConfiguration) throws(ValidationError) {
        if let clientID = try clientID { push.clientID = clientID }
        if let keepalive { push.keepalive = keepalive }
        push.will = will
        push.unixSocket = unixSocket
    }

    /// Applies the options to a publisher.
    func apply(to publisher: inout MQTTPublisherConfiguration) throws(ValidationError) {
        if let clientID = try clientID { publisher.clientID = clientID }
        if let keepalive { publisher.keepalive = keepalive }
        publisher.will = will
        publisher.unixSocket = unixSocket
    }

    private var clientID: MQTTClientID? {
        get throws(ValidationError) {
            guard let id else { return nil }
            return try ValidationError.checked("--id") { try MQTTClientID.fixed(id) }
        }
    }

    private var will: MQTTWill? {
        willTopic.map { topic in
            MQTTWill(
                topic: topic,
                payload: Array((willBody ?? "").utf8),
                qos: willQos ?? .atLeastOnce,
                retain: willRetain
            )
        }
    }
}

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

    /// Applies the options to a source with the client options.
    ///
    /// - Parameter isCounted: Whether the command ends after a number of messages. The broker then sends one message at
    ///   a time, because those of a batch are acknowledged together.
    func apply(
        to push: inout MQTTPushConfiguration,
        isCounted: Bool
    ) throws(ValidationError) {
        guard keepSession else {
            guard sessionExpiry == nil else {
                throw ValidationError("--session-expiry requires a session; add --keep-session")
            }
            return
        }
        guard !push.clientID.isRandom else {
            throw ValidationError("the broker keeps a session under the client's id; add --id")
        }
        guard sessionExpiry == nil || push.version == .v5 else {
            throw ValidationError("MQTT 3.1.1 has no session expiry; remove --session-expiry or --v311")
        }
        push.cleanStart = false
        push.sessionExpiry = sessionExpiry ?? SessionArguments.defaultExpiry
        push.otherTopics = SessionArguments.everyTopic
        if isCounted { (push.receiveMaximum, push.batchMessages) = (1, 1) }
    }
}
