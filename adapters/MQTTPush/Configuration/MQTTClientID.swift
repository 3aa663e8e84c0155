import SignalboxRoutes

/// The name under which a broker knows the client and keeps its session.
public struct MQTTClientID: Sendable, Hashable {
    let text: String
    /// Whether the id is new for each adapter, so that no session can be found again under it.
    public let isRandom: Bool

    /// An id that stays the same from run to run: what a session needs.
    ///
    /// Two clients with one id disconnect each other for ever, so each replica of a program needs its own.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` when it is empty, longer than 256 bytes, or contains a control
    ///   character. (MQTT 5.0, 3.1.3.1: every broker takes 1 to 23 letters and digits; most take more.)
    public static func fixed(_ text: String) throws(MQTTPushError) -> MQTTClientID {
        let isControl = { (scalar: Unicode.Scalar) in scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) }
        guard (1...256).contains(text.utf8.count), !text.unicodeScalars.contains(where: isControl) else {
            throw MQTTPushError(
                .invalidConfiguration,
                "a client id has 1 to 256 bytes and no control characters"
            )
        }
        return MQTTClientID(text: text, isRandom: false)
    }

    /// That of a further connection of a source.
    func with(suffix: String) -> MQTTClientID {
        MQTTClientID(text: "\(text)-\(suffix)", isRandom: isRandom)
    }

    /// An id of 23 letters and digits that nobody else has: for a client without a session.
    public static func random() -> MQTTClientID {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        let tail = (0..<14).map { _ in alphabet[Int.random(in: alphabet.indices)] }
        return MQTTClientID(text: "signalbox" + String(tail), isRandom: true)
    }
}

/// What a broker publishes in a client's name when its connection breaks without a goodbye (MQTT 5.0, 3.1.2.5).
public struct MQTTWill: Sendable, Hashable {
    /// The topic, without wildcards.
    public var topic: String
    /// The message, at most 65,535 bytes.
    public var payload: [UInt8]
    /// How surely it is delivered; at least once by default.
    public var quality: MQTTQuality
    /// Whether the broker stores it for later subscribers; `false` by default.
    public var retain: Bool

    /// A will.
    public init(topic: String, payload: [UInt8], quality: MQTTQuality = .atLeastOnce, retain: Bool = false) {
        self.topic = topic
        self.payload = payload
        self.quality = quality
        self.retain = retain
    }

    func validate() throws(MQTTPushError) {
        do throws(TopicError) {
            _ = try TopicName(topic)
        } catch {
            throw MQTTPushError(.invalidConfiguration, "the will's topic \(topic.debugDescription): \(error)")
        }
        guard payload.count <= 65_535 else {
            throw MQTTPushError(.invalidConfiguration, "the will has more than 65535 bytes")
        }
    }
}
