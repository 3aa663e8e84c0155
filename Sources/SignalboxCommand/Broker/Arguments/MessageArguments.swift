import ArgumentParser
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The options for a message's content, destination and properties.
struct MessageArguments: ParsableArguments {
    /// The maximum size of a body, in bytes.
    static let bodyLimit = 64 << 20
    /// The maximum number of user properties.
    private static let propertyLimit = 64
    /// The maximum size of a user property's name and value together, in bytes.
    private static let propertyBytes = 65_535

    @Option(name: [.customShort("t"), .customLong("topic")], help: "The topic, without wildcards.")
    var topic: String

    @OptionGroup var content: BodyArguments

    @Option(
        name: [.customShort("q"), .customLong("qos")],
        help: "QoS: 0 (at most once) or 1 (at least once, default).",
        completion: .list(["0", "1"]),
        transform: MQTTQoS.option
    )
    var qos: MQTTQoS?

    @Option(help: ArgumentHelp("The body's content type, such as application/json (MQTT 5).", valueName: "type"))
    var contentType: String?

    @Option(
        help: ArgumentHelp(
            "How long the message is valid, at least 1s; rounded up to whole seconds (MQTT 5).",
            valueName: "time"
        ),
        transform: MessageArguments.lifetime
    )
    var expiry: Duration?

    @Flag(help: "Say that the body is UTF-8 text, which subscribers may rely on (MQTT 5).")
    var text = false

    @Option(
        name: [.customLong("user-property")],
        help: ArgumentHelp(
            "A user property of the message; may be repeated, also with the same name (MQTT 5).",
            valueName: "name=value"
        ),
        transform: MessageArguments.property
    )
    var userProperties: [MQTTMessage.UserProperty] = []

    func validate() throws {
        guard userProperties.count <= MessageArguments.propertyLimit else {
            throw ValidationError("a message can have at most \(MessageArguments.propertyLimit) user properties")
        }
        try ValidationError.checkTopic("--topic", topic)
        _ = try ValidationError.checked("--topic") { try TopicName(topic) }
    }

    /// Reads the body.
    ///
    /// - Returns: The body, or `nil` if none was given.
    /// - Throws: ``CommandFailure`` if the body cannot be read.
    func bytes() async throws(CommandFailure) -> [UInt8]? {
        try await content.source?.bytes(limit: MessageArguments.bodyLimit, what: content.source?.name)
    }

    /// Returns the configuration for a publisher that can publish this message.
    ///
    /// - Throws: `ValidationError` if the options are invalid.
    func publisher(to broker: BrokerArguments, timeout: Duration?) throws(ValidationError) -> MQTTPublisherConfiguration
    {
        guard broker.version == .v5 || contentType == nil && expiry == nil && userProperties.isEmpty && !text else {
            throw ValidationError("--content-type, --expiry, --text and --user-property require MQTT 5; remove --v311")
        }
        guard broker.will.willDelay == nil else {
            throw ValidationError("--will-delay requires a session, and this command has none; remove it")
        }
        var publisher = try broker.publisher("publisher")
        if content.source != nil { publisher.queuedBytes = 2 * MessageArguments.bodyLimit }
        if let timeout { publisher.publishTimeout = min(max(timeout, .milliseconds(10)), .seconds(3_600)) }
        try ValidationError.checked { [publisher] in try publisher.validate() }
        return publisher
    }

    /// Returns the message without its body.
    func message(retain: Bool = false) -> MQTTMessage {
        var message = MQTTMessage([], to: topic, qos: qos ?? .atLeastOnce, retain: retain)
        message.contentType = contentType
        message.expiry = expiry
        message.isText = text
        message.userProperties = userProperties
        return message
    }

    /// Parses the value of an option for a user property.
    static func property(_ text: String) throws -> MQTTMessage.UserProperty {
        guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
            throw ValidationError("expected NAME=VALUE")
        }
        guard text.isBrokerText, text.utf8.count <= MessageArguments.propertyBytes else {
            throw ValidationError("expected at most \(MessageArguments.propertyBytes) bytes without control characters")
        }
        return MQTTMessage.UserProperty(
            name: String(text[..<equals]),
            value: String(text[text.index(after: equals)...])
        )
    }

    /// Parses the lifetime of a message.
    static func lifetime(_ text: String) throws -> Duration {
        let lifetime = try DurationText.duration(in: text)
        guard (.seconds(1)...(.seconds(4_294_967_295))).contains(lifetime) else {
            throw ValidationError("expected at least 1s")
        }
        return lifetime
    }
}
