import ArgumentParser
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The options for the destination and properties of a message.
struct MessageArguments: ParsableArguments {
    @Option(name: [.customShort("t"), .customLong("topic")], help: "The topic, without wildcards.")
    var topic: String

    @Option(help: "QoS: 0 (at most once) or 1 (at least once, default).")
    var qos: Int?

    @Option(help: ArgumentHelp("The payload's content type, such as application/json (MQTT 5).", valueName: "type"))
    var contentType: String?

    @Option(
        help: ArgumentHelp(
            "How long the message is valid, at least 1s; rounded up to whole seconds (MQTT 5).",
            valueName: "time"
        )
    )
    var expiry: String?

    /// Returns the message without its payload.
    ///
    /// - Throws: `ValidationError` if the options are invalid.
    func emptyMessage(retain: Bool, version: MQTTVersion) throws(ValidationError) -> MQTTMessage {
        do throws(TopicError) {
            _ = try TopicName(topic)
        } catch {
            throw ValidationError("--topic: \(error)")
        }
        var message = MQTTMessage([], to: topic, qos: try QoSOption.parse(qos), retain: retain)
        message.contentType = contentType
        message.expiry = try lifetime()
        guard version == .v5 || contentType == nil && expiry == nil else {
            throw ValidationError("--content-type and --expiry require MQTT 5; remove --v311")
        }
        return message
    }

    private func lifetime() throws(ValidationError) -> Duration? {
        guard let expiry else { return nil }
        do throws(ValueTextError) {
            let lifetime = try DurationText.duration(in: expiry)
            guard (.seconds(1)...(.seconds(4_294_967_295))).contains(lifetime) else {
                throw ValueTextError(description: "expected at least 1s")
            }
            return lifetime
        } catch {
            throw ValidationError("--expiry: \(error)")
        }
    }
}

/// The options for the payload of a single message.
struct PayloadArguments: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The payload as text; empty text is an empty message.", valueName: "text")
    )
    var payload: String?

    @Option(help: ArgumentHelp("The file whose bytes are the payload; '-' is stdin.", valueName: "path"))
    var file: String?

    /// Returns the source of the payload, or `nil` if none was given.
    ///
    /// - Throws: `ValidationError` if both options were given.
    func source() throws(ValidationError) -> PublishRequest.Payload? {
        guard payload == nil || file == nil else { throw ValidationError("--payload and --file exclude each other") }
        if let file { return file == "-" ? .standardInput : .file(file) }
        return payload.map { .text($0) }
    }
}

/// The validated arguments of `publish` and `request`.
struct PublishRequest: Sendable {
    static let source: SourceName = "publisher"
    /// The maximum size of a payload, in bytes.
    static let payloadLimit = 64 << 20
    /// The maximum length of a line that is published, in bytes.
    static let lineLimit = 8 << 20

    /// The source of the payloads.
    enum Payload: Sendable, Hashable {
        case text(String)
        case file(String)
        case standardInput
        /// One message for each line of stdin.
        case lines
    }

    let options: BrokerConnectionOptions
    /// The messages without their payload.
    let message: MQTTMessage
    let payload: Payload
    let timeout: Duration?

    /// The publisher, with a unique client id.
    var publisher: MQTTPublisherConfiguration {
        var publisher = MQTTPublisherConfiguration(source: PublishRequest.source, broker: options.broker)
        options.apply(to: &publisher)
        if payload != .lines { publisher.queuedBytes = 2 * PublishRequest.payloadLimit }
        if let timeout { publisher.publishTimeout = min(max(timeout, .milliseconds(10)), .seconds(3_600)) }
        return publisher
    }
}
