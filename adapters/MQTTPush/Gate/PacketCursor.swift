/// Reads the fields of a packet in order and never reads outside its range.
///
/// The subscripts of `UnsafeRawBufferPointer` check their index only in debug builds, so each method compares with
/// ``end`` first. A cursor must not outlive the buffer that it reads.
struct PacketCursor {
    let bytes: UnsafeRawBufferPointer
    /// The index of the next byte in the buffer. It is never greater than ``end``.
    private(set) var position: Int
    /// The index behind the last byte that may be read.
    let end: Int

    /// - Parameter range: The bytes to read. The part outside the buffer is left out.
    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        self.bytes = bytes
        position = min(max(range.lowerBound, 0), bytes.count)
        end = max(position, min(range.upperBound, bytes.count))
    }

    var remaining: Int { end &- position }

    @inline(__always)
    mutating func byte() throws(PacketViolation) -> UInt8 {
        guard remaining >= 1 else { throw truncated }
        defer { position &+= 1 }
        return bytes[position]
    }

    /// Reads a two byte integer (MQTT 5.0, 1.5.2).
    @inline(__always)
    mutating func two() throws(PacketViolation) -> UInt16 {
        guard remaining >= 2 else { throw truncated }
        defer { position &+= 2 }
        return UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt16.self))
    }

    /// Reads a four byte integer (MQTT 5.0, 1.5.3).
    @inline(__always)
    mutating func four() throws(PacketViolation) -> UInt32 {
        guard remaining >= 4 else { throw truncated }
        defer { position &+= 4 }
        return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
    }

    /// Reads a packet identifier, which is never 0 (MQTT 5.0, 2.2.1).
    @inline(__always)
    mutating func packetID() throws(PacketViolation) -> UInt16 {
        let start = position
        let id = try two()
        guard id != 0 else { throw PacketViolation(.packetID, at: start) }
        return id
    }

    /// Reads a variable byte integer of at most four bytes in its shortest form (MQTT 5.0, 1.5.5).
    @inline(__always)
    mutating func variable() throws(PacketViolation) -> Int {
        let first = try byte()
        return first < 0x80 ? Int(first) : try longVariable(after: first)
    }

    private mutating func longVariable(after first: UInt8) throws(PacketViolation) -> Int {
        let start = position - 1
        var value = Int(first & 0x7F)
        for shift in [7, 14, 21] {
            let next = try byte()
            value |= Int(next & 0x7F) << shift
            guard next >= 0x80 else {
                guard next != 0 else { throw PacketViolation(.integerNotShortest, at: start) }
                return value
            }
        }
        throw PacketViolation(.integerTooLong, at: start)
    }

    /// Returns the range of the next bytes and continues behind them.
    @inline(__always)
    mutating func take(_ count: Int) throws(PacketViolation) -> Range<Int> {
        guard count >= 0, count <= remaining else { throw truncated }
        defer { position &+= count }
        return Range(uncheckedBounds: (position, position &+ count))
    }

    /// Returns the range of the bytes up to the end, and continues at the end.
    mutating func takeRemaining() -> Range<Int> {
        defer { position = end }
        return Range(uncheckedBounds: (position, end))
    }

    /// Reads binary data: a length of two bytes, then the bytes, whose range it returns (MQTT 5.0, 1.5.6).
    @inline(__always)
    mutating func data() throws(PacketViolation) -> Range<Int> {
        try take(Int(try two()))
    }

    /// Reads a text like binary data. The text is UTF-8 without U+0000 (MQTT 5.0, 1.5.4). Control characters and
    /// noncharacters are allowed, because the specification only advises against them.
    @inline(__always)
    mutating func text() throws(PacketViolation) -> Range<Int> {
        let start = position
        let range = try data()
        guard PacketCursor.isText(bytes, range) else { throw PacketViolation(.invalidText, at: start) }
        return range
    }

    /// Requires that nothing is left to read.
    func finish() throws(PacketViolation) {
        guard position == end else { throw PacketViolation(.trailingBytes, at: position) }
    }

    private var truncated: PacketViolation { PacketViolation(.truncated, at: position) }
}

extension PacketCursor {
    /// Returns whether the bytes are UTF-8 without U+0000. The range must be within the buffer.
    @inline(__always)
    private static func isText(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        var index = range.lowerBound
        // Texts are mostly ASCII. A byte of 0 borrows from its own top bit when 1 is subtracted from each byte, and a
        // byte from 0x80 has that bit already.
        while range.upperBound &- index >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard (word | (word &- 0x0101_0101_0101_0101)) & 0x8080_8080_8080_8080 == 0 else { break }
            index &+= 8
        }
        while index < range.upperBound {
            if bytes[index] &- 1 < 0x7F {
                index &+= 1
            } else {
                let count = sequence(bytes, at: index, end: range.upperBound)
                guard count > 0 else { return false }
                index &+= count
            }
        }
        return true
    }

    /// Returns the number of bytes of the character outside ASCII at an index, or 0 if there is none (Unicode 15, table
    /// 3-7). This refuses surrogates, overlong forms, and code points over U+10FFFF.
    private static func sequence(_ bytes: UnsafeRawBufferPointer, at index: Int, end: Int) -> Int {
        let (count, second): (Int, ClosedRange<UInt8>)
        switch bytes[index] {
        case 0xC2...0xDF: (count, second) = (2, 0x80...0xBF)
        case 0xE0: (count, second) = (3, 0xA0...0xBF)
        case 0xED: (count, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (count, second) = (3, 0x80...0xBF)
        case 0xF0: (count, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (count, second) = (4, 0x80...0xBF)
        case 0xF4: (count, second) = (4, 0x80...0x8F)
        default: return 0
        }
        guard end - index >= count, second.contains(bytes[index + 1]) else { return 0 }
        for offset in 2..<count where bytes[index + offset] & 0xC0 != 0x80 { return 0 }
        return count
    }
}
