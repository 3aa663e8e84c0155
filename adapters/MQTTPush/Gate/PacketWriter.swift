/// The part of a packet after its fixed header, or a list of properties.
///
/// Its fields are written twice, first to determine their length and then to encode them, so both passes must write the
/// same fields.
protocol PacketContent {
    /// Writes all fields in their order.
    func write(to fields: inout some PacketFields) throws(PacketEncodingError)
}

/// The encodings of a packet's fields (MQTT 5.0, 1.5).
protocol PacketFields {
    mutating func byte(_ value: UInt8)
    mutating func two(_ value: UInt16)
    mutating func four(_ value: UInt32)
    /// Writes a variable byte integer in its shortest form (MQTT 5.0, 1.5.5). The value must be at most 268,435,455.
    mutating func variable(_ value: UInt32)
    /// Writes a text with its length. It must have at most 65,535 bytes and must not contain U+0000 (MQTT 5.0, 1.5.4).
    mutating func text(_ value: String, _ field: PacketField) throws(PacketEncodingError)
    /// Writes binary data with its length, which must be at most 65,535 bytes (MQTT 5.0, 1.5.6).
    mutating func data(_ value: [UInt8], _ field: PacketField) throws(PacketEncodingError)
    /// Writes bytes without a length, which must be the last field of the packet.
    mutating func rest(_ value: [UInt8])
    /// Writes properties with their length (MQTT 5.0, 2.2.2.1).
    mutating func properties(_ list: some PacketContent) throws(PacketEncodingError)
}

extension PacketFields {
    /// Writes a property with its identifier (MQTT 5.0, 2.2.2), or nothing if there is no value.
    @inline(__always)
    mutating func property(_ id: PropertyID, byte value: UInt8?) {
        guard let value else { return }
        byte(id.rawValue)
        byte(value)
    }

    @inline(__always)
    mutating func property(_ id: PropertyID, two value: UInt16?) {
        guard let value else { return }
        byte(id.rawValue)
        two(value)
    }

    @inline(__always)
    mutating func property(_ id: PropertyID, four value: UInt32?) {
        guard let value else { return }
        byte(id.rawValue)
        four(value)
    }

    @inline(__always)
    mutating func property(
        _ id: PropertyID,
        text value: String?,
        _ field: PacketField
    ) throws(PacketEncodingError) {
        guard let value else { return }
        byte(id.rawValue)
        try text(value, field)
    }

    @inline(__always)
    mutating func property(
        _ id: PropertyID,
        data value: [UInt8]?,
        _ field: PacketField
    ) throws(PacketEncodingError) {
        guard let value else { return }
        byte(id.rawValue)
        try data(value, field)
    }

    /// Writes user properties, in their order (MQTT 5.0, 3.3.2.3.7).
    @inline(__always)
    mutating func userProperties(_ properties: [MQTTMessage.UserProperty]) throws(PacketEncodingError) {
        for property in properties {
            byte(PropertyID.userProperty.rawValue)
            try text(property.name, .userProperty)
            try text(property.value, .userProperty)
        }
    }
}

/// A field whose length or text can be invalid.
enum PacketField: String {
    case protocolName = "protocol name"
    case clientID = "client id"
    case userName = "user name"
    case password
    case willTopic = "topic of the will"
    case willPayload = "payload of the will"
    case topic
    case filter = "topic filter"
    case responseTopic = "response topic"
    case contentType = "content type"
    case correlation = "correlation data"
    case userProperty = "user property"
    case authenticationMethod = "authentication method"
    case authenticationData = "authentication data"
    case reasonString = "reason string"
}

/// The reason why a packet cannot be encoded. Nothing was added to the output.
enum PacketEncodingError: Error, Equatable {
    /// A value that the specification forbids.
    enum Value: Equatable {
        /// A packet identifier of 0, or one for a QoS 0 message.
        case packetIdentifier
        /// A subscription identifier that is not 1 to 268,435,455.
        case subscriptionIdentifier
        /// A SUBSCRIBE or UNSUBSCRIBE without topic filters.
        case noFilters
        /// A topic or a topic filter without characters.
        case emptyTopic
        /// A receive maximum or maximum packet size of 0.
        case zeroLimit
        /// In MQTT 3.1.1, a password without a user name.
        case passwordWithoutUserName
        /// Authentication data without an authentication method.
        case dataWithoutMethod
        /// A packet that MQTT 3.1.1 does not have.
        case unknownPacketType
    }

    /// The text or data has more than 65,535 bytes.
    case tooLong(PacketField, bytes: Int)
    /// The text contains U+0000.
    case nullCharacter(PacketField)
    /// The packet would be larger than the protocol or the server allows. Both sizes include the fixed header.
    case packetTooLarge(bytes: Int, limit: Int)
    case invalid(Value)
    /// Too many bytes wait to be written. The packet can be added after some of them have been written.
    case outputFull
    /// The content wrote different fields in its two passes.
    case inconsistentLength
}

/// Counts the bytes of fields, and checks them.
struct PacketSize: PacketFields {
    /// The largest remaining length (MQTT 5.0, 2.1.4) and the largest variable byte integer (MQTT 5.0, 1.5.5).
    static let largest = 268_435_455

    private(set) var count = 0

    init() {}

    init(of content: some PacketContent) throws(PacketEncodingError) {
        try content.write(to: &self)
    }

    /// The length of a packet with this content, including the fixed header, even if it is too large.
    var length: Int { 1 &+ PacketSize.ofVariable(count) &+ count }

    /// Returns ``length`` if neither the protocol nor the limit forbids it.
    ///
    /// - Throws: `packetTooLarge`.
    func packetLength(atMost limit: UInt32) throws(PacketEncodingError) -> Int {
        guard count <= PacketSize.largest else {
            throw .packetTooLarge(bytes: length, limit: PacketSize.largest &+ 5)
        }
        guard length <= Int(limit) else { throw .packetTooLarge(bytes: length, limit: Int(limit)) }
        return length
    }

    /// The number of bytes of a variable byte integer, which is 4 for a value that is too large.
    @inline(__always)
    static func ofVariable(_ value: Int) -> Int {
        value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : 4
    }

    @inline(__always)
    mutating func byte(_ value: UInt8) { count &+= 1 }

    @inline(__always)
    mutating func two(_ value: UInt16) { count &+= 2 }

    @inline(__always)
    mutating func four(_ value: UInt32) { count &+= 4 }

    @inline(__always)
    mutating func variable(_ value: UInt32) { count &+= PacketSize.ofVariable(Int(value)) }

    @inline(__always)
    mutating func text(_ value: String, _ field: PacketField) throws(PacketEncodingError) {
        let length = value.utf8.count
        guard length <= 0xFFFF else { throw .tooLong(field, bytes: length) }
        guard !value.containsNull else { throw .nullCharacter(field) }
        count &+= 2 &+ length
    }

    @inline(__always)
    mutating func data(_ value: [UInt8], _ field: PacketField) throws(PacketEncodingError) {
        guard value.count <= 0xFFFF else { throw .tooLong(field, bytes: value.count) }
        count &+= 2 &+ value.count
    }

    @inline(__always)
    mutating func rest(_ value: [UInt8]) { count &+= value.count }

    @inline(__always)
    mutating func properties(_ list: some PacketContent) throws(PacketEncodingError) {
        block(try PacketSize(of: list))
    }

    /// Counts properties whose size is known, with their length.
    @inline(__always)
    mutating func block(_ properties: PacketSize) {
        count &+= PacketSize.ofVariable(properties.count) &+ properties.count
    }
}

/// Encodes fields into memory, whose size must be the length that ``PacketSize`` determined.
///
/// A field that does not fit is left out, and the packet stays incomplete.
struct PacketWriter: PacketFields {
    private let buffer: UnsafeMutableRawBufferPointer
    private var position = 0
    private var hasOverflown = false

    /// The memory must stay valid while the writer is used.
    init(_ buffer: UnsafeMutableRawBufferPointer) {
        self.buffer = buffer
    }

    /// Whether the fields have filled the memory exactly.
    var isComplete: Bool { position == buffer.count && !hasOverflown }

    /// Returns the memory for the next bytes, or `nil` if they do not fit.
    @inline(__always)
    private mutating func advance(_ count: Int) -> UnsafeMutableRawPointer? {
        guard count <= buffer.count &- position, let base = buffer.baseAddress else {
            hasOverflown = true
            return nil
        }
        defer { position &+= count }
        return base + position
    }

    @inline(__always)
    mutating func byte(_ value: UInt8) {
        advance(1)?.storeBytes(of: value, as: UInt8.self)
    }

    @inline(__always)
    mutating func two(_ value: UInt16) {
        advance(2)?.storeBytes(of: value.bigEndian, as: UInt16.self)
    }

    @inline(__always)
    mutating func four(_ value: UInt32) {
        advance(4)?.storeBytes(of: value.bigEndian, as: UInt32.self)
    }

    @inline(__always)
    mutating func variable(_ value: UInt32) {
        var rest = value
        while rest > 0x7F {
            byte(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        byte(UInt8(truncatingIfNeeded: rest))
    }

    @inline(__always)
    mutating func text(_ value: String, _ field: PacketField) throws(PacketEncodingError) {
        let length = value.utf8.count
        two(UInt16(truncatingIfNeeded: length))
        guard let target = advance(length) else { return }
        value.withBytes { bytes in
            // The pointer of an empty text can be nil.
            guard let source = bytes.baseAddress, bytes.count == length else { return }
            target.copyMemory(from: source, byteCount: length)
        }
    }

    @inline(__always)
    mutating func data(_ value: [UInt8], _ field: PacketField) throws(PacketEncodingError) {
        two(UInt16(truncatingIfNeeded: value.count))
        rest(value)
    }

    @inline(__always)
    mutating func rest(_ value: [UInt8]) {
        guard !value.isEmpty, let target = advance(value.count) else { return }
        value.withUnsafeBytes { bytes in
            guard let source = bytes.baseAddress else { return }
            target.copyMemory(from: source, byteCount: bytes.count)
        }
    }

    @inline(__always)
    mutating func properties(_ list: some PacketContent) throws(PacketEncodingError) {
        let size = try PacketSize(of: list)
        variable(UInt32(truncatingIfNeeded: size.count))
        try list.write(to: &self)
    }
}

extension String {
    /// Calls a closure with the UTF-8 bytes. Only a text that another runtime owns is copied.
    @inline(__always)
    func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        let result = utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
        return result ?? Array(utf8).withUnsafeBytes { body($0) }
    }

    /// Whether the text contains U+0000.
    @inline(__always)
    var containsNull: Bool {
        withBytes { bytes in
            var index = 0
            // In a word without a byte of 0, subtracting 1 from each byte sets no top bit that was clear. Otherwise,
            // the first byte of 0 sets one.
            while bytes.count &- index >= 8 {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0 { return true }
                index &+= 8
            }
            while index < bytes.count {
                if bytes[index] == 0 { return true }
                index &+= 1
            }
            return false
        }
    }
}
