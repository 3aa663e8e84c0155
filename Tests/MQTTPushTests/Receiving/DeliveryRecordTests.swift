import Testing

@testable import MQTTPush

@Suite struct DeliveryRecordTests {
    private static func fingerprint(_ packet: Int, _ checksum: UInt64 = 7) -> MessageFingerprint {
        MessageFingerprint(packetID: UInt16(truncatingIfNeeded: packet), checksum: checksum)
    }

    private static func fingerprints(_ packets: some Sequence<Int>) -> [MessageFingerprint] {
        packets.map { fingerprint($0) }
    }

    private static func fingerprint(_ packet: UInt16, topic: String, _ payload: String) -> MessageFingerprint {
        Array(topic.utf8).withUnsafeBytes { topic in
            Array(payload.utf8).withUnsafeBytes { MessageFingerprint(packetID: packet, topic: topic, payload: $0) }
        }
    }

    @Test func messagesInFlightAtACrashAreSuspects() {
        var record = DeliveryRecord(capacity: 9)
        _ = record.begin(from: 0, Self.fingerprints(1...2))
        let next = record.afterCrash(capacity: 9)
        #expect(next.inFlight.isEmpty)
        #expect((1...3).map { next.crashes(of: Self.fingerprint($0)) } == [1, 1, 0])
        #expect(next.crashes(of: Self.fingerprint(1, 8)) == 0)
    }

    @Test func eachCrashCountsOnlyForMessagesInFlight() {
        var record = DeliveryRecord(capacity: 9)
        _ = record.begin(from: 0, Self.fingerprints(1...2))
        for _ in 1...3 {
            record = record.afterCrash(capacity: 9)
            _ = record.begin(from: 0, Self.fingerprints(1...1))
        }
        #expect(record.crashes(of: Self.fingerprint(1)) == 3)
        #expect(record.crashes(of: Self.fingerprint(2)) == 1)
    }

    @Test func oneCrashCountsOnceForEqualMessages() {
        var record = DeliveryRecord(capacity: 9)
        _ = record.begin(from: 0, Self.fingerprints([0, 0, 1, 0]))
        let once = record.afterCrash(capacity: 9)
        #expect(once.suspects.map(\.crashes) == [1, 1])
        record = once
        _ = record.begin(from: 0, Self.fingerprints([0, 0]))
        #expect(record.afterCrash(capacity: 9).suspects.map(\.crashes) == [2, 1])
    }

    @Test func settledMessagesAreClearedAndDrainedOnesStaySuspects() {
        var record = DeliveryRecord(capacity: 9)
        _ = record.begin(from: 0, Self.fingerprints(1...2))
        record = record.afterCrash(capacity: 9)
        _ = record.begin(from: 0, Self.fingerprints(1...1))
        #expect(record.drain().count == 1)
        #expect(record.suspects.count == 2 && record.inFlight.isEmpty)
        _ = record.begin(from: 0, Self.fingerprints(1...1))
        #expect(record.settle(upTo: 1).count == 2)
        #expect(record.suspects.map(\.fingerprint) == [Self.fingerprint(2)])
        _ = record.begin(from: 1, Self.fingerprints(3...3))
        #expect(record.settle(upTo: 2).count == 1)
    }

    @Test func aTokenSettlesOnlyEarlierMessagesOfItsConnection() {
        let (connection, last): (UInt64, UInt64) = (5 << 44, 1 << 44 - 1)
        var record = DeliveryRecord(capacity: 9)
        _ = record.begin(from: connection + 10, [Self.fingerprint(1), nil, nil, Self.fingerprint(2)])
        for token in [0, 10, 13, connection, connection + 10, connection + 1 << 44, .max] {
            #expect(record.settle(upTo: token).isEmpty, "\(token)")
        }
        #expect(record.settle(upTo: connection + 13).count == 1)
        #expect(record.inFlight == [Self.fingerprint(2)])
        _ = record.drain()
        // The number of a message wraps without a change of the connection.
        _ = record.begin(from: connection + last, Self.fingerprints(3...3))
        _ = record.begin(from: connection, Self.fingerprints(4...4))
        #expect(record.settle(upTo: connection).count == 1)
        #expect(record.inFlight == [Self.fingerprint(4)])
    }

    @Test func nothingIsWrittenIfNothingChanges() {
        var record = DeliveryRecord(capacity: 9)
        #expect(record.begin(from: 0, []).isEmpty)
        #expect(record.begin(from: 0, [nil, nil]).isEmpty)
        #expect(record.settle(upTo: 2).isEmpty)
        #expect(record.drain().isEmpty)
        #expect(record.clearSuspects().isEmpty)
    }

    @Test func aTurnWritesItsSlotsAndThePositions() {
        var record = DeliveryRecord(capacity: 4)
        #expect(record.begin(from: 0, Self.fingerprints(1...3)).map(\.bytes.count) == [48, 16])
        #expect(record.settle(upTo: 3).map(\.bytes.count) == [16])
        let wrapped = record.begin(from: 3, Self.fingerprints(4...6))
        #expect(wrapped.map(\.bytes.count) == [16, 32, 16])
        #expect(wrapped.map(\.offset) == [8_192 + 48, 8_192, 8])
    }

    @Test func theNumberOfSuspectsIsLimited() {
        var record = DeliveryRecord(capacity: 1_000)
        for start in [0, 200] {
            _ = record.begin(from: 0, Self.fingerprints(start..<start + 200))
            record = record.afterCrash(capacity: 1_000)
        }
        #expect(record.suspects.count == DeliveryRecord.suspectLimit)
        #expect(record.suspects.last?.fingerprint == Self.fingerprint(399))
        _ = record.begin(from: 0, (0..<1_000).map { Self.fingerprint($0, 9) })
        #expect(record.afterCrash(capacity: 1).suspects.count == DeliveryRecord.suspectLimit)
    }

    @Test func aFingerprintDistinguishesMessagesWithTheSamePacketIdentifier() {
        let fingerprints = [
            Self.fingerprint(1, topic: "a", "b"), Self.fingerprint(2, topic: "a", "b"),
            Self.fingerprint(1, topic: "b", "b"),
            Self.fingerprint(1, topic: "a", "c"), Self.fingerprint(1, topic: "a", ""),
            Self.fingerprint(1, topic: "ab", ""),
            Self.fingerprint(1, topic: "a", "12345678 12345678"), Self.fingerprint(1, topic: "a", "12345678  12345678"),
        ]
        #expect(Set(fingerprints).count == fingerprints.count)
        #expect(Self.fingerprint(1, topic: "a", "b") == fingerprints[0])
    }
}

@Suite struct DeliveryFormatTests {
    private static func fingerprint(_ packet: Int, _ checksum: UInt64 = 7) -> MessageFingerprint {
        MessageFingerprint(packetID: UInt16(truncatingIfNeeded: packet), checksum: checksum)
    }

    @Test func theEncodingRoundTrips() throws {
        var record = DeliveryRecord(capacity: 3)
        _ = record.begin(from: 0, [Self.fingerprint(1, .max), Self.fingerprint(65_535, 1 << 63)])
        record = record.afterCrash(capacity: 3)
        _ = record.begin(from: 0, [Self.fingerprint(1, .max), Self.fingerprint(9)])
        var image = DeliveryImage()
        image.apply(record.whole())
        let decoded = try #require(DeliveryRecord(image.bytes))
        #expect(decoded.inFlight == record.inFlight && decoded.suspects == record.suspects)
        #expect((decoded.tail, decoded.capacity) == (4, 3) && decoded.area == record.area)
        var empty = DeliveryRecord()
        #expect(empty.whole().map(\.bytes.count) == [40])
        #expect(DeliveryRecord(empty.whole()[0].bytes)?.inFlight == [])
    }

    @Test func aFileOfVersion1IsDecoded() throws {
        let record = try #require(DeliveryRecord(versionOne))
        #expect(record.inFlight == [1, 2].map { Self.fingerprint($0, 1) })
        #expect(record.suspects.map(\.fingerprint) == [1, 3].map { Self.fingerprint($0, 1) })
        #expect(record.suspects.map(\.crashes) == [2, 2])
        for count in 0..<versionOne.count { #expect(DeliveryRecord(Array(versionOne.prefix(count))) == nil) }
        // Byte 12 is left out: 0xFF there means 255 suspects, which is valid.
        for index in 0..<16 where index != 12 {
            var changed = versionOne
            changed[index] = 0xFF
            #expect(DeliveryRecord(changed) == nil, "byte \(index)")
        }
    }

    /// The capacity, the number of suspects or the area of a foreign file must not lead to a read outside of the file.
    @Test func invalidBytesAreRefused() {
        var record = DeliveryRecord(capacity: 5)
        _ = record.begin(from: 0, (1...4).map { Self.fingerprint($0) })
        record = record.afterCrash(capacity: 5)
        _ = record.begin(from: 0, (1...4).map { Self.fingerprint($0) })
        var image = DeliveryImage()
        image.apply(record.whole())
        for count in [0, 7, 39, 40, 8_191, image.bytes.count - 1] {
            #expect(DeliveryRecord(Array(image.bytes.prefix(count))) == nil, "\(count) bytes")
        }
        for index in 0..<40 {
            for bit in 0..<8 {
                var changed = image.bytes
                changed[index] ^= 1 << UInt8(bit)
                let decoded = DeliveryRecord(changed)
                let isSignature = index < 8
                #expect(!isSignature || decoded == nil, "byte \(index)")
                #expect((decoded?.inFlight.count ?? 0) <= 5 && (decoded?.suspects.count ?? 0) <= 256)
            }
        }
        for (offset, value) in [(24, 0), (24, 3), (28, 1), (32, 2)] as [(Int, UInt8)] {
            var changed = image.bytes
            changed.replaceSubrange(offset..<offset + 4, with: [value, offset == 28 ? 1 : 0, 0, 0])
            #expect(DeliveryRecord(changed) == nil, "\(value) at byte \(offset)")
        }
    }

    @Test func aSlotOfAnotherPositionIsNotInFlight() throws {
        var record = DeliveryRecord(capacity: 2)
        var image = DeliveryImage()
        image.apply(record.whole())
        image.apply(record.begin(from: 0, [Self.fingerprint(1), Self.fingerprint(2)]))
        // Both are settled, and their acknowledgements wait to be written.
        let overwriting = record.begin(from: 2, [Self.fingerprint(3)])
        image.apply(Array(overwriting.dropLast()))
        #expect(DeliveryRecord(image.bytes)?.inFlight == [Self.fingerprint(2)])
        image.apply([try #require(overwriting.last)])
        #expect(DeliveryRecord(image.bytes)?.inFlight == [Self.fingerprint(2), Self.fingerprint(3)])
        #expect(record.inFlight.count == 3)
    }

    @Test func theWholeRecordReplacesAnyContent() {
        var record = DeliveryRecord(capacity: 3)
        _ = record.begin(from: 0, (1...2).map { Self.fingerprint($0) })
        record = record.afterCrash(capacity: 3)
        _ = record.begin(from: 0, (3...7).map { Self.fingerprint($0) })
        var image = DeliveryImage(bytes: [UInt8](repeating: 0x61, count: 9_000))
        image.apply(record.whole())
        #expect(DeliveryRecord(image.bytes)?.inFlight == (5...7).map { Self.fingerprint($0) })
        #expect(DeliveryRecord(image.bytes)?.suspects == record.suspects)
    }
}

/// The content of a file to which writes were applied.
struct DeliveryImage {
    var bytes: [UInt8] = []

    mutating func apply(_ parts: [DeliveryWrite]) {
        for part in parts { apply(part.bytes[...], at: part.offset) }
    }

    /// Applies a part in pieces that a kill can separate, and calls `body` after each.
    mutating func apply(_ part: DeliveryWrite, _ body: (DeliveryImage) -> Void) {
        let size = part.offset < 4_096 ? part.bytes.count : 16
        for start in stride(from: 0, to: part.bytes.count, by: size) {
            apply(part.bytes[start..<start + size], at: part.offset + start)
            body(self)
        }
    }

    private mutating func apply(_ new: ArraySlice<UInt8>, at offset: Int) {
        let missing = offset + new.count - bytes.count
        if missing > 0 { bytes += [UInt8](repeating: 0, count: missing) }
        bytes.replaceSubrange(offset..<offset + new.count, with: new)
    }
}
