/// A part of the file that is written at once. If the process is killed, the part is missing, complete, or cut off at the
/// end of a page, which is never inside of the header, a suspect or a slot.
struct DeliveryWrite: Equatable {
    let offset: Int
    let bytes: [UInt8]
}

/// The layout of the file: a header, the suspects in one of two areas, and a ring of slots for the messages in flight.
/// All numbers are little endian.
///
/// A process may be killed between any two writes. The header is therefore written after the parts that it refers to,
/// and each slot contains its position, so that a slot that was already written for a later message is not mistaken for
/// the one that the header refers to.
enum DeliveryFormat {
    /// Where the suspects are. The far area is behind everything else, including all of a file of version 1.
    enum Area: UInt32 {
        case near = 0
        case far = 1

        fileprivate var offset: Int { self == .near ? 4_096 : slotsOffset + 16 * 65_536 }
    }

    /// The maximum number of slots.
    static let slotLimit = 65_535
    /// The maximum size of a file of either version.
    static let fileLimit = Area.far.offset + DeliveryRecord.suspectLimit * itemBytes

    fileprivate static let signature = Array("SBXDLV2\n".utf8)
    fileprivate static let headOffset = 8
    fileprivate static let headerBytes = 40
    fileprivate static let slotsOffset = 8_192
    /// The size of a suspect and of a slot.
    fileprivate static let itemBytes = 16

    /// The whole header.
    static func header(of record: DeliveryRecord) -> DeliveryWrite {
        var bytes = signature
        bytes.append(littleEndian: record.head)
        bytes.append(littleEndian: record.tail)
        bytes.append(littleEndian: UInt32(truncatingIfNeeded: record.capacity))
        bytes.append(littleEndian: UInt32(truncatingIfNeeded: record.suspects.count))
        bytes.append(littleEndian: record.area.rawValue)
        bytes.append(littleEndian: UInt32(0))
        return DeliveryWrite(offset: 0, bytes: bytes)
    }

    /// The part of the header that says which slots are in use.
    static func positions(head: UInt64, tail: UInt64) -> DeliveryWrite {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        bytes.append(littleEndian: head)
        bytes.append(littleEndian: tail)
        return DeliveryWrite(offset: headOffset, bytes: bytes)
    }

    static func suspects(_ suspects: [DeliveryRecord.Suspect], in area: Area) -> DeliveryWrite {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(suspects.count * itemBytes)
        for suspect in suspects { bytes.append(suspect.crashes, suspect.fingerprint) }
        return DeliveryWrite(offset: area.offset, bytes: bytes)
    }

    /// The slots of at most `capacity` messages at consecutive positions, in two parts if they extend over the end of
    /// the ring.
    static func slots(_ messages: [MessageFingerprint], from position: UInt64, capacity: Int) -> [DeliveryWrite] {
        guard !messages.isEmpty else { return [] }
        let index = Int(position % UInt64(capacity))
        let split = min(messages.count, capacity - index)
        let parts = [(index, messages[..<split]), (0, messages[split...])]
        var position = UInt32(truncatingIfNeeded: position)
        return parts.filter { !$0.1.isEmpty }.map { index, part in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(part.count * itemBytes)
            for fingerprint in part {
                bytes.append(position, fingerprint)
                position &+= 1
            }
            return DeliveryWrite(offset: slotsOffset + index * itemBytes, bytes: bytes)
        }
    }
}

// MARK: - Decoding

extension DeliveryRecord {
    /// Decodes a record of either version.
    ///
    /// - Returns: `nil` if the bytes are not a record.
    init?(_ bytes: [UInt8]) {
        guard let record = DeliveryRecord(version2: bytes) ?? DeliveryRecord(version1: bytes) else { return nil }
        self = record
    }

    private init?(version2 bytes: [UInt8]) {
        guard bytes.count >= DeliveryFormat.headerBytes, bytes.starts(with: DeliveryFormat.signature) else {
            return nil
        }
        let (head, tail) = (UInt64(littleEndianAt: 8, in: bytes), UInt64(littleEndianAt: 16, in: bytes))
        let capacity = Int(UInt32(littleEndianAt: 24, in: bytes))
        let count = Int(UInt32(littleEndianAt: 28, in: bytes))
        guard 1...DeliveryFormat.slotLimit ~= capacity, tail &- head <= UInt64(capacity),
            let area = DeliveryFormat.Area(rawValue: UInt32(littleEndianAt: 32, in: bytes)),
            let suspects = Suspect.read(count, at: area.offset, in: bytes)
        else { return nil }
        let messages = (0..<(tail &- head)).compactMap { offset in
            DeliveryRecord.slot(head &+ offset, capacity: capacity, in: bytes)
        }
        self.init(capacity: capacity, inFlight: messages, suspects: suspects, tail: tail, area: area)
    }

    /// Returns the message at a position, or `nil` if its slot was written for another position or not at all.
    private static func slot(_ position: UInt64, capacity: Int, in bytes: [UInt8]) -> MessageFingerprint? {
        let offset = DeliveryFormat.slotsOffset + Int(position % UInt64(capacity)) * DeliveryFormat.itemBytes
        guard bytes.count - offset >= DeliveryFormat.itemBytes,
            UInt32(littleEndianAt: offset, in: bytes) == UInt32(truncatingIfNeeded: position)
        else { return nil }
        return MessageFingerprint(at: offset, in: bytes)
    }

    /// Decodes the format of version 1: a signature, the numbers of messages in flight and of suspects, space for
    /// ``suspectLimit`` suspects, and the messages in flight.
    private init?(version1 bytes: [UInt8]) {
        let messagesOffset = 16 + DeliveryRecord.suspectLimit * DeliveryFormat.itemBytes
        guard bytes.count >= messagesOffset, bytes.starts(with: Array("SBXDLV1\n".utf8)),
            let suspects = Suspect.read(Int(UInt32(littleEndianAt: 12, in: bytes)), at: 16, in: bytes)
        else { return nil }
        let count = Int(UInt32(littleEndianAt: 8, in: bytes))
        guard count <= (bytes.count - messagesOffset) / DeliveryFormat.itemBytes else { return nil }
        let messages = (0..<count).map { index in
            MessageFingerprint(at: messagesOffset + index * DeliveryFormat.itemBytes, in: bytes)
        }
        // The near area overlaps the messages of version 1, so the next process must write to the far one first.
        self.init(inFlight: messages, suspects: suspects, area: .near)
    }
}

extension DeliveryRecord.Suspect {
    /// - Returns: `nil` if the number exceeds the limit, or if the bytes end too early.
    fileprivate static func read(_ count: Int, at offset: Int, in bytes: [UInt8]) -> [DeliveryRecord.Suspect]? {
        guard count <= DeliveryRecord.suspectLimit,
            count == 0 || offset + count * DeliveryFormat.itemBytes <= bytes.count
        else { return nil }
        return (0..<count).map { index in
            let start = offset + index * DeliveryFormat.itemBytes
            return DeliveryRecord.Suspect(
                fingerprint: MessageFingerprint(at: start, in: bytes),
                crashes: UInt32(littleEndianAt: start, in: bytes)
            )
        }
    }
}

extension MessageFingerprint {
    /// Reads the fingerprint in a suspect or a slot, behind its first four bytes.
    fileprivate init(at offset: Int, in bytes: [UInt8]) {
        let packetID = UInt16(truncatingIfNeeded: UInt32(littleEndianAt: offset + 4, in: bytes))
        self.init(packetID: packetID, checksum: UInt64(littleEndianAt: offset + 8, in: bytes))
    }
}

extension FixedWidthInteger {
    fileprivate init(littleEndianAt offset: Int, in bytes: [UInt8]) {
        self = bytes[offset..<offset + Self.bitWidth / 8].reversed().reduce(0) { $0 << 8 | Self($1) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian value: some FixedWidthInteger) {
        for shift in stride(from: 0, to: value.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    /// Appends a suspect or a slot, which begins with its number of crashes or its position.
    fileprivate mutating func append(_ number: UInt32, _ fingerprint: MessageFingerprint) {
        append(littleEndian: number)
        append(littleEndian: UInt32(fingerprint.packetID))
        append(littleEndian: fingerprint.checksum)
    }
}
