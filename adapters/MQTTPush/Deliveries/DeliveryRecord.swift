/// Lists the messages in flight, and those that were in flight when an earlier process crashed. A record performs no
/// I/O: each change returns the writes that bring the file up to date.
///
/// A message is in flight from ``begin(from:_:)`` until ``settle(upTo:)`` or ``drain()``. Messages leave in the order of
/// their arrival, as they do in ``AcknowledgementRing``.
struct DeliveryRecord {
    /// A message that may have crashed an earlier process, because it was in flight at the time.
    struct Suspect: Equatable {
        let fingerprint: MessageFingerprint
        var crashes: UInt32
    }

    private struct Entry {
        let token: UInt64
        let fingerprint: MessageFingerprint
    }

    /// The maximum number of suspects. When this number is exceeded, the oldest suspects are dropped.
    static let suspectLimit = 256

    /// The maximum number of messages in flight that the file lists: the newest.
    let capacity: Int
    private(set) var suspects: [Suspect]
    /// The position behind the newest message in flight. Each message gets the next position, and a position is never
    /// used again, so the file tells the messages of an earlier process apart.
    private(set) var tail: UInt64
    /// The place of the suspects in the file.
    private(set) var area: DeliveryFormat.Area

    private var entries: [Entry] = []
    /// The index of the first message in flight. The entries in front of it are removed now and then, because removing
    /// them each time would move all others.
    private var first = 0

    /// - Parameters:
    ///   - capacity: The capacity of the acknowledgement ring. Values outside of 1 to 65,535 are clamped.
    ///   - inFlight: The messages in flight at the positions before `tail`.
    init(
        capacity: Int = 1,
        inFlight: [MessageFingerprint] = [],
        suspects: [Suspect] = [],
        tail: UInt64 = 0,
        area: DeliveryFormat.Area = .near
    ) {
        self.capacity = min(max(capacity, 1), DeliveryFormat.slotLimit)
        self.suspects = Array(suspects.suffix(DeliveryRecord.suspectLimit))
        self.tail = tail
        self.area = area
        entries = inFlight.map { Entry(token: 0, fingerprint: $0) }
    }

    /// The messages in flight, the oldest first.
    var inFlight: [MessageFingerprint] { entries[first...].map(\.fingerprint) }

    /// The number of messages in flight.
    var count: Int { entries.count - first }

    /// The position of the first message in flight that the file lists.
    ///
    /// More messages than the ring holds are in flight only while acknowledgements wait to be written. The oldest of
    /// them are settled and have left the ring, so they cannot crash the process, and the file need not list them.
    var head: UInt64 { tail &- UInt64(min(count, capacity)) }

    /// The record that the next process starts with if the process that wrote this record crashed. It considers only the
    /// first ``suspectLimit`` messages in flight.
    func afterCrash(capacity: Int) -> DeliveryRecord {
        var suspects = suspects
        // Two messages in flight may have the same fingerprint, such as a retained message that matches two filters.
        // They share one crash.
        var counted: Set<MessageFingerprint> = []
        for fingerprint in inFlight.prefix(DeliveryRecord.suspectLimit) where counted.insert(fingerprint).inserted {
            if let index = suspects.firstIndex(where: { $0.fingerprint == fingerprint }) {
                // The number comes from a file, so the addition must not trap.
                let crashes = suspects[index].crashes
                suspects[index].crashes = max(crashes, crashes &+ 1)
            } else {
                suspects.append(Suspect(fingerprint: fingerprint, crashes: 1))
            }
        }
        return DeliveryRecord(capacity: capacity, suspects: suspects, tail: tail, area: area)
    }

    /// Returns how many processes crashed while the message was in flight.
    func crashes(of fingerprint: MessageFingerprint) -> Int {
        suspects.first { $0.fingerprint == fingerprint }.map { Int($0.crashes) } ?? 0
    }
}

// MARK: - Changes

extension DeliveryRecord {
    /// Adds messages that are about to be submitted.
    ///
    /// - Parameters:
    ///   - token: The token of the first message. Each further message has the next token.
    ///   - fingerprints: One element for each message, which is `nil` for a message that is not counted.
    mutating func begin(from token: UInt64, _ fingerprints: [MessageFingerprint?]) -> [DeliveryWrite] {
        let start = tail
        for (offset, fingerprint) in fingerprints.enumerated() {
            guard let fingerprint else { continue }
            entries.append(Entry(token: token &+ UInt64(offset), fingerprint: fingerprint))
            tail &+= 1
        }
        guard tail != start else { return [] }
        // The header follows the slots, so it never lists a message that is missing.
        return slots(Int(tail &- start)) + [DeliveryFormat.positions(head: head, tail: tail)]
    }

    /// Removes the messages before a token of the same connection. They were acknowledged, so the broker does not
    /// redeliver them, and they are no suspects any more.
    mutating func settle(upTo token: UInt64) -> [DeliveryWrite] {
        let start = first
        while first < entries.count, DeliveryRecord.isBefore(entries[first].token, token) { first += 1 }
        guard first > start else { return [] }
        let before = suspects.count
        if before > 0 {
            let settled = Set(entries[start..<first].map(\.fingerprint))
            suspects.removeAll { settled.contains($0.fingerprint) }
        }
        if first * 2 >= entries.count {
            entries.removeFirst(first)
            first = 0
        }
        return suspects.count < before ? suspectsAndHeader() : [DeliveryFormat.positions(head: head, tail: tail)]
    }

    /// Removes all messages, because none is being handled any more. Suspects stay suspects, because the broker
    /// redelivers those that were not acknowledged.
    mutating func drain() -> [DeliveryWrite] {
        guard count > 0 else { return [] }
        entries.removeAll(keepingCapacity: true)
        first = 0
        return [DeliveryFormat.positions(head: head, tail: tail)]
    }

    /// Removes the suspects that the broker will not redeliver, because it discarded the session or has already sent
    /// other messages instead. Retained messages stay, because they arrive in every session.
    mutating func clearSuspects() -> [DeliveryWrite] {
        let before = suspects.count
        suspects.removeAll { !$0.fingerprint.isRetained }
        return suspects.count < before ? suspectsAndHeader() : []
    }

    /// Returns the writes that replace whatever the file contains.
    mutating func whole() -> [DeliveryWrite] { slots(count) + suspectsAndHeader() }

    /// Writes the newest messages in flight to their slots: at most one slot each, in one or two parts.
    private func slots(_ newest: Int) -> [DeliveryWrite] {
        let listed = entries.suffix(min(newest, capacity)).map(\.fingerprint)
        return DeliveryFormat.slots(listed, from: tail &- UInt64(listed.count), capacity: capacity)
    }

    /// Writes the suspects to the area that the header does not name yet, so that the header takes effect at once.
    private mutating func suspectsAndHeader() -> [DeliveryWrite] {
        guard !suspects.isEmpty else { return [DeliveryFormat.header(of: self)] }
        area = area == .near ? .far : .near
        return [DeliveryFormat.suspects(suspects, in: area), DeliveryFormat.header(of: self)]
    }

    /// Returns whether a message arrived before another one on the same connection.
    private static func isBefore(_ token: UInt64, _ other: UInt64) -> Bool {
        let bits = AcknowledgementRing.ticketBits
        guard token >> bits == other >> bits else { return false }
        return Int64(bitPattern: (other &- token) << (64 - bits)) > 0
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
