import CMosquitto
import SignalboxRoutes

/// What can be told about a message without a broker.
struct PublishCheck {
    private let version: MQTTVersion

    init(_ configuration: MQTTPublisherConfiguration) {
        version = configuration.version
    }

    /// - Throws: ``MQTTPublishError`` `invalidMessage` or `tooLarge`.
    func check(_ message: MQTTMessage) throws(MQTTPublishError) {
        try checkTopic(message.topic, "topic")
        if let topic = message.responseTopic { try checkTopic(topic, "response topic") }
        guard message.payload.count <= MQTTMessage.largestPayload else {
            throw MQTTPublishError(.tooLarge, "a payload has at most \(MQTTMessage.largestPayload) bytes")
        }
        guard version == .v5 else { return try checkHasNoProperties(message) }
        guard (message.correlation?.count ?? 0) <= 65_535 else {
            throw fault("correlation data has at most 65535 bytes")
        }
        if let expiry = message.expiry, !(.zero ... .seconds(4_294_967_295) ~= expiry) || expiry == .zero {
            throw fault("an expiry is above 0 and at most 2^32 - 1 s")
        }
        guard message.userProperties.count <= 64 else { throw fault("a message has at most 64 user properties") }
        var texts = message.userProperties.flatMap { [$0.name, $0.value] }
        if let type = message.contentType { texts.append(type) }
        for text in texts where !PublishCheck.isText(text) {
            throw fault("the texts of properties have at most 65535 bytes and no control characters")
        }
    }

    private func checkHasNoProperties(_ message: MQTTMessage) throws(MQTTPublishError) {
        guard message.responseTopic == nil, message.correlation == nil, message.contentType == nil,
            message.expiry == nil, message.userProperties.isEmpty
        else { throw fault("MQTT 3.1.1 has no properties: leave them out, or set the version to 5") }
    }

    private func checkTopic(_ text: String, _ name: String) throws(MQTTPublishError) {
        do {
            _ = try TopicName(text)
        } catch {
            throw fault("the \(name): \(error)")
        }
        guard PublishCheck.isText(text) else { throw fault("the \(name) has control characters") }
    }

    /// Whether the library takes it: it refuses control characters and what is no character.
    private static func isText(_ text: String) -> Bool {
        var text = text
        let count = text.utf8.count
        guard count <= 65_535 else { return false }
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { mosquitto_validate_utf8($0.baseAddress, Int32(count)) == 0 }
                || count == 0
        }
    }

    private func fault(_ detail: String) -> MQTTPublishError {
        MQTTPublishError(.invalidMessage, detail)
    }
}
