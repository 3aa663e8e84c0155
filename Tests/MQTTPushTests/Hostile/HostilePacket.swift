/// What a broker may not send, or need not, and what a client does with it.
struct HostilePacket: Sendable, CustomStringConvertible {
    enum Answer: Sendable {
        /// The connection is dropped and made again.
        case drops
        /// Nothing happens: what comes behind it is read as if it were not there.
        case ignores
        /// It counts as what it says it is.
        case takes
    }

    let name: String
    let bytes: [UInt8]
    let answer: Answer

    init(_ name: String, _ bytes: [UInt8], _ answer: Answer = .drops) {
        self.name = name
        self.bytes = bytes
        self.answer = answer
    }

    var description: String { name }

    /// A packet: type and flags, then the rest with its true length, which is below 128.
    static func packet(_ first: UInt8, _ rest: [UInt8]) -> [UInt8] { [first, UInt8(rest.count)] + rest }

    /// CONNACK with these properties.
    static func connack(_ properties: [UInt8], flags: UInt8 = 0, code: UInt8 = 0) -> [UInt8] {
        packet(0x20, [flags, code, UInt8(properties.count)] + properties)
    }

    /// PUBLISH with QoS 0 and these bytes for a topic and properties.
    static func publish(_ topic: [UInt8], properties: [UInt8] = [], first: UInt8 = 0x30) -> [UInt8] {
        let id: [UInt8] = first & 0x06 == 0 ? [] : [0x00, 0x01]
        return packet(first, [0, UInt8(topic.count)] + topic + id + [UInt8(properties.count)] + properties)
    }
}
