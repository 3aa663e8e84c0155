import ArgumentParser
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The options for a message's content, destination and properties.
struct MessageArguments: ParsableArguments {
    /// The maximum size of a payload, in bytes.
    static let payloadLimit = 64 << 20

    @Option(name: [.customShort("t"), .customLong("topic")], help: "The topic, without wildcards.")
    var topic: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The payload as text; empty text is an empty message.", valueName: "text")
    )
    var payload: String?

    @Option(help: ArgumentHelp("The file whose bytes are the payload; '-' is stdin.", valueName: "path"))
    var file: String?

    @Option(
        help: "QoS: 0 (at most once) or 1 (at least once, default).",
        transform: MQTTQoS.option
    )
    var qos: MQTTQoS?

    @Option(help: ArgumentHelp("The payload's content type, such as application/json (MQTT 5).", valueName: "type"))
    var contentType: String?

    @Option(
        help: ArgumentHelp(
            "How long the message is valid, at least 1s; rounded up to whole seconds (MQTT 5).",
            valueName: "time"
        ),
        transform: MessageArguments.lifetime
    )
    var expiry: Duration?

    /// Where the payload comes from, or `nil` if none was given.
    var content: InputSource? { file.map { InputSource(path: $0) } ?? payload.map { .text($0) } }

    func validate() throws {
        guard payload == nil || file == nil else { throw ValidationError("--payload and --file exclude each other") }
        _ = try ValidationError.checked("--topic") { try TopicName(topic) }
    }

    /// Reads the payload.
    ///
    /// - Returns: The payload, or `nil` if none was given.
    /// - Throws: ``CommandFailure`` if the payload cannot be read.
    func payloadBytes() async throws(CommandFailure) -> [UInt8]? {
        try await content?.bytes(limit: MessageArguments.payloadLimit, what: content?.name)
    }

    /// Returns the configuration for a publisher that can publish this message.
    ///
    /// - Throws: `ValidationError` if the options are invalid.
    func publisher(to broker: BrokerArguments, timeout: Duration?) throws(ValidationError) -> MQTTPublisherConfiguration
    {
        guard broker.version == .v5 || contentType == nil && expiry == nil else {
            throw ValidationError("--content-type and --expiry require MQTT 5; remove --v311")
        }
        var publisher = try broker.publisher("publisher")
        if content != nil { publisher.queuedBytes = 2 * MessageArguments.payloadLimit }
        if let timeout { publisher.publishTimeout = min(max(timeout, .milliseconds(10)), .seconds(3_600)) }
        try ValidationError.checked { [publisher] in try publisher.validate() }
        return publisher
    }

    /// Returns the message without its payload.
    func message(retain: Bool = false) -> MQTTMessage {
        var message = MQTTMessage([], to: topic, qos: qos ?? .atLeastOnce, retain: retain)
        message.contentType = contentType
        message.expiry = expiry
        return message
    }

    private static func lifetime(_ text: String) throws -> Duration {
        let lifetime = try DurationText.duration(in: text)
        guard (.seconds(1)...(.seconds(4_294_967_295))).contains(lifetime) else {
            throw ValidationError("expected at least 1s")
        }
        return lifetime
    }
}
