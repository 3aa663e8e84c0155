/// Lists the messages in flight, and those that were in flight when an earlier process crashed. A record performs no
/// I/O.
struct DeliveryRecord: Equatable {
    /// A message that may have crashed an earlier process, because it was in flight at the time.
    struct Suspect: Equatable {
        let fingerprint: MessageFingerprint
        var crashes: UInt32
    }

    /// The maximum number of suspects. When this number is exceeded, the oldest suspects are dropped.
    static let suspectLimit = 256

    private(set) var inFlight: [MessageFingerprint] = []
    private(set) var suspects: [Suspect] = []

    init() {}

    /// - Parameter inFlight: The messages in flight. ``afterCrash`` considers only the first ``suspectLimit`` of them.
    init(inFlight: [MessageFingerprint], suspects: [Suspect]) {
        self.inFlight = inFlight
        self.suspects = Array(suspects.suffix(DeliveryRecord.suspectLimit))
    }

    /// The record that the next process starts with if the process that wrote this record crashed.
    var afterCrash: DeliveryRecord {
        var next = DeliveryRecord(inFlight: [], suspects: suspects)
        for fingerprint in inFlight.prefix(DeliveryRecord.suspectLimit) {
            if let index = next.suspects.firstIndex(where: { $0.fingerprint == fingerprint }) {
                // The number comes from a file, so the addition must not trap.
                let crashes = next.suspects[index].crashes
                next.suspects[index].crashes = max(crashes, crashes &+ 1)
            } else {
                next.suspects.append(Suspect(fingerprint: fingerprint, crashes: 1))
            }
        }
        next.suspects = Array(next.suspects.suffix(DeliveryRecord.suspectLimit))
        return next
    }

    /// Returns how many processes crashed while the message was in flight.
    func crashes(of fingerprint: MessageFingerprint) -> Int {
        suspects.first { $0.fingerprint == fingerprint }.map { Int($0.crashes) } ?? 0
    }

    mutating func begin(_ fingerprints: [MessageFingerprint]) {
        inFlight = fingerprints
    }

    /// Ends the batch.
    ///
    /// - Parameter isSettled: Whether all messages in the batch are settled, which means that the broker does not
    ///   redeliver them.
    /// - Returns: Whether the settled batch cleared any suspects.
    mutating func end(isSettled: Bool) -> Bool {
        let ended = inFlight
        inFlight = []
        guard isSettled, !suspects.isEmpty else { return false }
        let count = suspects.count
        suspects.removeAll { ended.contains($0.fingerprint) }
        return suspects.count < count
    }

    /// Removes the suspects that the broker will not redeliver, because it discarded the session or has already sent
    /// other messages instead. Retained messages stay, because they arrive in every session.
    mutating func clearSuspects() {
        suspects.removeAll { !$0.fingerprint.isRetained }
    }
}

// MARK: - Encoding

extension DeliveryRecord {
    private static let signature = Array("SBXDLV1\n".utf8)
    fileprivate static let fingerprintBytes = 16
    /// The offset of the messages in flight, which follow the signature, two counts and the suspects.
    static let inFlightOffset = signature.count + 8 + suspectLimit * fingerprintBytes
    /// The offset of the number of messages in flight.
    static let countOffset = signature.count

    /// Decodes a record.
    ///
    /// - Returns: `nil` if the bytes are not a record.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= DeliveryRecord.inFlightOffset, bytes.starts(with: DeliveryRecord.signature) else {
            return nil
        }
        let fingerprints = Int(UInt32(littleEndianAt: DeliveryRecord.countOffset, in: bytes))
        let suspects = Int(UInt32(littleEndianAt: DeliveryRecord.countOffset + 4, in: bytes))
        guard suspects <= DeliveryRecord.suspectLimit,
            fingerprints <= (bytes.count - DeliveryRecord.inFlightOffset) / DeliveryRecord.fingerprintBytes
        else { return nil }
        self.suspects = Suspect.read(suspects, at: DeliveryRecord.signature.count + 8, in: bytes)
        inFlight = Suspect.read(fingerprints, at: DeliveryRecord.inFlightOffset, in: bytes).map(\.fingerprint)
    }

    /// The part of the file before ``inFlightOffset``: the signature, the counts and the suspects.
    var head: [UInt8] {
        var bytes = DeliveryRecord.signature
        bytes.append(littleEndian: UInt32(inFlight.count))
        bytes.append(littleEndian: UInt32(suspects.count))
        for suspect in suspects { bytes.append(suspect) }
        bytes += [UInt8](repeating: 0, count: DeliveryRecord.inFlightOffset - bytes.count)
        return bytes
    }

    /// The messages in flight, which start at ``inFlightOffset``.
    var tail: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(inFlight.count * DeliveryRecord.fingerprintBytes)
        for fingerprint in inFlight { bytes.append(Suspect(fingerprint: fingerprint, crashes: 0)) }
        return bytes
    }
}

extension DeliveryRecord.Suspect {
    fileprivate static func read(_ count: Int, at offset: Int, in bytes: [UInt8]) -> [DeliveryRecord.Suspect] {
        (0..<count).map { DeliveryRecord.Suspect(at: offset + $0 * DeliveryRecord.fingerprintBytes, in: bytes) }
    }

    private init(at offset: Int, in bytes: [UInt8]) {
        let words = (0..<4).map { UInt32(littleEndianAt: offset + 4 * $0, in: bytes) }
        let packetID = UInt16(truncatingIfNeeded: words[1])
        fingerprint = MessageFingerprint(packetID: packetID, checksum: UInt64(words[3]) << 32 | UInt64(words[2]))
        crashes = words[0]
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

    fileprivate mutating func append(_ suspect: DeliveryRecord.Suspect) {
        append(littleEndian: suspect.crashes)
        append(littleEndian: UInt32(suspect.fingerprint.packetID))
        append(littleEndian: UInt32(truncatingIfNeeded: suspect.fingerprint.checksum))
        append(littleEndian: UInt32(truncatingIfNeeded: suspect.fingerprint.checksum >> 32))
    }
}

/// Identifies a QoS 1 message by its packet identifier and a checksum, so that a redelivery of the message is
/// recognized.
///
/// The broker keeps the packet identifier until the message is acknowledged and then reuses it for other messages, so
/// the fingerprint also includes a checksum of a few of the message's bytes. A retained message has a different
/// identifier for each subscription, so its fingerprint contains no identifier, but a checksum of all bytes.
struct MessageFingerprint: Hashable {
    /// The packet identifier, or 0 for a retained message.
    let packetID: UInt16
    let checksum: UInt64

    init(packetID: UInt16, checksum: UInt64) {
        self.packetID = packetID
        self.checksum = checksum
    }

    init(packetID: UInt16, topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer) {
        self.packetID = packetID
        checksum = MessageFingerprint.checksum(
            [topic.suffix(8), payload.prefix(8), payload.suffix(8)],
            of: topic,
            payload
        )
    }

    init(retained payload: UnsafeRawBufferPointer, on topic: UnsafeRawBufferPointer) {
        packetID = 0
        checksum = MessageFingerprint.checksum([topic[...], payload[...]], of: topic, payload)
    }

    private static func checksum(
        _ parts: [Slice<UnsafeRawBufferPointer>],
        of topic: UnsafeRawBufferPointer,
        _ payload: UnsafeRawBufferPointer
    ) -> UInt64 {
        var checksum = UInt64(topic.count) << 32 ^ UInt64(payload.count)
        for part in parts {
            for byte in part { checksum = checksum &* 31 &+ UInt64(byte) }
        }
        return checksum
    }

    var isRetained: Bool { packetID == 0 }
}
