import ArgumentParser
import MQTTPush
import SignalboxRoutes

/// The options about where a message goes and how.
struct MessageArguments: ParsableArguments {
    @Option(name: [.customShort("t"), .customLong("topic")], help: "The topic; it has no wildcards.")
    var topic: String

    @Option(help: "What the message is worth: 0, at most once, or 1, at least once; 1 without it.")
    var qos: Int?

    @Option(help: ArgumentHelp("What the payload is, such as application/json (MQTT 5).", valueName: "type"))
    var contentType: String?

    @Option(
        help: ArgumentHelp(
            "How long the message is wanted, such as 30s; whole seconds count (MQTT 5).",
            valueName: "time"
        )
    )
    var expiry: String?

    /// The message without what it says.
    ///
    /// - Throws: `ValidationError` for what cannot be published.
    func emptyMessage(retain: Bool, version: MQTTVersion) throws(ValidationError) -> MQTTMessage {
        do throws(TopicError) {
            _ = try TopicName(topic)
        } catch {
            throw ValidationError("--topic: \(error)")
        }
        var message = MQTTMessage([], to: topic, quality: try QualityOption.quality(qos), retain: retain)
        message.contentType = contentType
        message.expiry = try lifetime()
        guard version == .v5 || contentType == nil && expiry == nil else {
            throw ValidationError("--content-type and --expiry are properties of MQTT 5; leave --v311 out")
        }
        return message
    }

    private func lifetime() throws(ValidationError) -> Duration? {
        guard let expiry else { return nil }
        do throws(ValueTextError) {
            let lifetime = try DurationText.duration(in: expiry)
            guard (.seconds(1)...(.seconds(4_294_967_295))).contains(lifetime) else {
                throw ValueTextError(description: "1s or more expected")
            }
            return lifetime
        } catch {
            throw ValidationError("--expiry: \(error)")
        }
    }
}
