import SignalboxRoutes

/// The name that identifies a client and its session to a broker.
///
/// Use ``fixed(_:)`` if the broker should keep messages for the client while it is disconnected. Use ``random()`` if
/// the client does not need a session.
public struct MQTTClientID: Sendable, Hashable {
    package let text: String
    /// Whether the id was chosen at random. No later client has the same id, so the session can never be resumed.
    public let isRandom: Bool

    /// Creates an id that stays the same between runs, which is required to resume a session.
    ///
    /// Two clients with the same id keep disconnecting each other, so give each replica of a program a different id.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` if the text is empty, is longer than 256 bytes, or contains a
    ///   control character. Every broker accepts 1 to 23 letters and digits (MQTT 5.0, 3.1.3.1). Most brokers accept
    ///   more.
    public static func fixed(_ text: String) throws(MQTTPushError) -> MQTTClientID {
        let hasControl = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard (1...256).contains(text.utf8.count), !hasControl else {
            throw .invalid("a client id must have 1 to 256 bytes and no control characters")
        }
        return MQTTClientID(text: text, isRandom: false)
    }

    /// Returns the id for an additional connection, which ends with the suffix.
    package func with(suffix: String) -> MQTTClientID {
        MQTTClientID(text: "\(text)-\(suffix)", isRandom: isRandom)
    }

    /// Creates a random id of 23 letters and digits, for a client without a session.
    public static func random() -> MQTTClientID {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        let tail = (0..<14).map { _ in alphabet[Int.random(in: alphabet.indices)] }
        return MQTTClientID(text: "signalbox" + String(tail), isRandom: true)
    }
}
