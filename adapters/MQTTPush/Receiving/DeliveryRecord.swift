/// The messages being handled, and those that were being handled when earlier processes died. Performs no I/O.
struct DeliveryRecord: Equatable {
    /// A message that an earlier process did not survive, or one that was merely in the same batch.
    struct Suspect: Equatable {
        let mark: DeliveryMark
        var deaths: UInt32
    }

    /// The maximum number of suspects; beyond it the oldest are dropped.
    static let suspectLimit = 256

    private(set) var underWay: [DeliveryMark] = []
    private(set) var suspects: [Suspect] = []

    init() {}

    /// - Parameter underWay: The messages being handled; ``afterDeath`` considers only the first ``suspectLimit``.
    init(underWay: [DeliveryMark], suspects: [Suspect]) {
        self.underWay = underWay
        self.suspects = Array(suspects.suffix(DeliveryRecord.suspectLimit))
    }

    /// The record for the next process if the one with this record has died.
    var afterDeath: DeliveryRecord {
        var next = DeliveryRecord(underWay: [], suspects: suspects)
        for mark in underWay.prefix(DeliveryRecord.suspectLimit) {
            if let place = next.suspects.firstIndex(where: { $0.mark == mark }) {
                // Saturates, because the number comes from a file.
                let deaths = next.suspects[place].deaths
                next.suspects[place].deaths = max(deaths, deaths &+ 1)
            } else {
                next.suspects.append(Suspect(mark: mark, deaths: 1))
            }
        }
        next.suspects = Array(next.suspects.suffix(DeliveryRecord.suspectLimit))
        return next
    }

    /// Returns how many processes died while handling the message.
    func deaths(with mark: DeliveryMark) -> Int {
        suspects.first { $0.mark == mark }.map { Int($0.deaths) } ?? 0
    }

    mutating func begin(_ marks: [DeliveryMark]) {
        underWay = marks
    }

    /// Ends the batch.
    ///
    /// - Parameter isSettled: Whether its messages are settled and so are not redelivered.
    /// - Returns: Whether suspects were cleared.
    mutating func end(isSettled: Bool) -> Bool {
        let ended = underWay
        underWay = []
        guard isSettled, !suspects.isEmpty else { return false }
        let count = suspects.count
        suspects.removeAll { ended.contains($0.mark) }
        return suspects.count < count
    }

    /// Removes suspects that will not be redelivered because the broker discarded the session or sent other messages
    /// instead. Retained messages stay, as they arrive with any session.
    mutating func forgetSuspects() {
        suspects.removeAll { !$0.mark.isRetained }
    }
}

// MARK: - As bytes

extension DeliveryRecord {
    private static let signature = Array("SBXDLV1\n".utf8)
    private static let markBytes = 16
    /// The offset of the messages being handled: after the signature, two counts and the suspects.
    static let underWayOffset = signature.count + 8 + suspectLimit * markBytes
    /// The offset of their count.
    static let countOffset = signature.count

    /// - Returns: `nil` if the bytes are not a record.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= DeliveryRecord.underWayOffset, bytes.starts(with: DeliveryRecord.signature) else {
            return nil
        }
        let marks = Int(UInt32(littleEndianAt: DeliveryRecord.countOffset, in: bytes))
        let suspects = Int(UInt32(littleEndianAt: DeliveryRecord.countOffset + 4, in: bytes))
        guard suspects <= DeliveryRecord.suspectLimit,
            marks <= (bytes.count - DeliveryRecord.underWayOffset) / DeliveryRecord.markBytes
        else { return nil }
        let first = DeliveryRecord.signature.count + 8
        self.suspects = (0..<suspects).map { number in
            let (mark, deaths) = DeliveryRecord.mark(at: first + number * DeliveryRecord.markBytes, in: bytes)
            return Suspect(mark: mark, deaths: deaths)
        }
        underWay = (0..<marks).map { number in
            DeliveryRecord.mark(at: DeliveryRecord.underWayOffset + number * DeliveryRecord.markBytes, in: bytes).mark
        }
    }

    /// The signature, the counts and the suspects: everything before ``underWayOffset``.
    var head: [UInt8] {
        var bytes = DeliveryRecord.signature
        bytes.append(littleEndian: UInt32(underWay.count))
        bytes.append(littleEndian: UInt32(suspects.count))
        for suspect in suspects { bytes.append(suspect.mark, deaths: suspect.deaths) }
        bytes += [UInt8](repeating: 0, count: DeliveryRecord.underWayOffset - bytes.count)
        return bytes
    }

    /// The messages being handled, which start at ``underWayOffset``.
    var tail: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(underWay.count * DeliveryRecord.markBytes)
        for mark in underWay { bytes.append(mark, deaths: 0) }
        return bytes
    }

    private static func mark(at offset: Int, in bytes: [UInt8]) -> (mark: DeliveryMark, deaths: UInt32) {
        let deaths = UInt32(littleEndianAt: offset, in: bytes)
        let packet = UInt32(littleEndianAt: offset + 4, in: bytes)
        let low = UInt64(UInt32(littleEndianAt: offset + 8, in: bytes))
        let high = UInt64(UInt32(littleEndianAt: offset + 12, in: bytes))
        return (DeliveryMark(packet: UInt16(truncatingIfNeeded: packet), check: high << 32 | low), deaths)
    }
}

extension UInt32 {
    fileprivate init(littleEndianAt offset: Int, in bytes: [UInt8]) {
        self = bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension [UInt8] {
    mutating func append(littleEndian value: UInt32) {
        for shift in stride(from: 0, to: 32, by: 8) { append(UInt8(truncatingIfNeeded: value >> UInt32(shift))) }
    }

    fileprivate mutating func append(_ mark: DeliveryMark, deaths: UInt32) {
        append(littleEndian: deaths)
        append(littleEndian: UInt32(mark.packet))
        append(littleEndian: UInt32(truncatingIfNeeded: mark.check))
        append(littleEndian: UInt32(truncatingIfNeeded: mark.check >> 32))
    }
}

/// Identifies a QoS 1 message by its packet identifier and a checksum.
///
/// The broker keeps the identifier until the message is acknowledged, but then reuses it, so a checksum of a few bytes
/// is added. A retained message arrives with each subscription under another identifier, so its mark has none and a
/// checksum of all bytes.
struct DeliveryMark: Hashable {
    /// 0 for a retained message.
    let packet: UInt16
    let check: UInt64

    init(packet: UInt16, check: UInt64) {
        self.packet = packet
        self.check = check
    }

    init(packet: UInt16, topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer) {
        self.packet = packet
        check = DeliveryMark.check([topic.suffix(8), payload.prefix(8), payload.suffix(8)], of: topic, payload)
    }

    init(retained payload: UnsafeRawBufferPointer, on topic: UnsafeRawBufferPointer) {
        packet = 0
        check = DeliveryMark.check([topic[...], payload[...]], of: topic, payload)
    }

    private static func check(
        _ parts: [Slice<UnsafeRawBufferPointer>],
        of topic: UnsafeRawBufferPointer,
        _ payload: UnsafeRawBufferPointer
    ) -> UInt64 {
        var check = UInt64(topic.count) << 32 ^ UInt64(payload.count)
        for part in parts {
            for byte in part { check = check &* 31 &+ UInt64(byte) }
        }
        return check
    }

    var isRetained: Bool { packet == 0 }
}
