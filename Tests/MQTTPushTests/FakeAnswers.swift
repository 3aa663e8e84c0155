/// What a broker could answer, byte by byte (MQTT 5.0, chapter 3).
enum FakeAnswers {
    /// CONNACK: taken, no session, no properties.
    static let connected: [UInt8] = [0x20, 0x03, 0x00, 0x00, 0x00]
    /// SUBACK to the client's first packet id: QoS 1 granted.
    static let granted: [UInt8] = [0x90, 0x04, 0x00, 0x01, 0x00, 0x01]
    /// All that a client with one filter needs.
    static let welcome = [connected, granted]

    /// PUBLISH with QoS 0, 1 or 2 and packet id 1.
    static func message(_ payload: String, to topic: String, qos: UInt8) -> [UInt8] {
        var rest = [0, UInt8(topic.utf8.count)] + Array(topic.utf8)
        if qos > 0 { rest += [0x00, 0x01] }
        rest += [0x00] + Array(payload.utf8)
        return [0x30 | qos << 1, UInt8(rest.count)] + rest
    }
}
