import ArgumentParser
import MQTTPush
import SignalboxCore

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
        if let keepalive, !(5...65_535).contains(keepalive.components.seconds) || keepalive.components.attoseconds != 0
        {
            throw ValidationError("--keepalive must be a whole number of seconds, 5s to 65535s")
        }
        if let willTopic { try ValidationError.checkTopic("--will-topic", willTopic) }
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
