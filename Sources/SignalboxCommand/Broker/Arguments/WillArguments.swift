import ArgumentParser
import MQTTPush
import SignalboxCore

/// The options for the will of a broker's client.
struct WillArguments: ParsableArguments {
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

    @Option(
        help: ArgumentHelp(
            "How long the broker waits for the client to return before it publishes the will: whole seconds (MQTT 5).",
            valueName: "time"
        ),
        transform: TimeoutOption.duration
    )
    var willDelay: Duration?

    @Option(
        help: ArgumentHelp(
            "How long the will is valid, at least 1s; rounded up to whole seconds (MQTT 5).",
            valueName: "time"
        ),
        transform: MessageArguments.lifetime
    )
    var willExpiry: Duration?

    @Option(help: ArgumentHelp("The content type of the will's body (MQTT 5).", valueName: "type"))
    var willContentType: String?

    @Option(help: ArgumentHelp("The topic for replies to the will (MQTT 5).", valueName: "topic"))
    var willResponseTopic: String?

    @Option(help: ArgumentHelp("The data to repeat in replies to the will (MQTT 5).", valueName: "text"))
    var willCorrelationData: String?

    @Option(
        help: ArgumentHelp("A user property of the will; may be repeated (MQTT 5).", valueName: "name=value"),
        transform: MessageArguments.property
    )
    var willProperty: [MQTTMessage.UserProperty] = []

    @Flag(help: "Say that the will's body is UTF-8 text (MQTT 5).")
    var willText = false

    /// The options for a will whose topic is given, with whether they are.
    private var others: [(name: String, isGiven: Bool)] {
        [("--will-body", willBody != nil), ("--will-qos", willQos != nil), ("--will-retain", willRetain)] + properties
    }

    /// The options that MQTT 3.1.1 does not have.
    private var properties: [(name: String, isGiven: Bool)] {
        [
            ("--will-delay", willDelay != nil), ("--will-expiry", willExpiry != nil),
            ("--will-content-type", willContentType != nil), ("--will-response-topic", willResponseTopic != nil),
            ("--will-correlation-data", willCorrelationData != nil), ("--will-property", !willProperty.isEmpty),
            ("--will-text", willText),
        ]
    }

    func validate() throws {
        if let willTopic { try ValidationError.checkTopic("--will-topic", willTopic) }
        if willTopic == nil, let option = others.first(where: \.isGiven)?.name {
            throw ValidationError("\(option) requires a will; add --will-topic")
        }
        if let willDelay, willDelay.components.attoseconds != 0 || willDelay.components.seconds > 4_294_967_295 {
            throw ValidationError("--will-delay must be a whole number of seconds, at most 4294967295s")
        }
    }

    /// Returns the will, or `nil` if there is none.
    ///
    /// - Throws: `ValidationError` if an option requires MQTT 5.
    func will(for version: MQTTVersion) throws(ValidationError) -> MQTTWill? {
        guard let willTopic else { return nil }
        if version == .v311, let option = properties.first(where: \.isGiven)?.name {
            throw ValidationError("\(option) requires MQTT 5; remove --v311")
        }
        var will = MQTTWill(
            topic: willTopic,
            payload: Array((willBody ?? "").utf8),
            qos: willQos ?? .atLeastOnce,
            retain: willRetain
        )
        will.delay = willDelay ?? .zero
        will.expiry = willExpiry.map { expiry in
            .seconds(expiry.components.seconds + (expiry.components.attoseconds > 0 ? 1 : 0))
        }
        will.contentType = willContentType
        will.responseTopic = willResponseTopic
        will.correlation = willCorrelationData.map { Array($0.utf8) }
        will.userProperties = willProperty
        will.isText = willText
        return will
    }
}
