import Testing

@testable import MQTTPush

@Suite struct DeliveryRecordTests {
    private static func mark(_ packet: Int, _ check: UInt64 = 7) -> DeliveryMark {
        DeliveryMark(packet: UInt16(truncatingIfNeeded: packet), check: check)
    }

    private static func mark(_ packet: UInt16, topic: String, _ payload: String) -> DeliveryMark {
        Array(topic.utf8).withUnsafeBytes { topic in
            Array(payload.utf8).withUnsafeBytes { DeliveryMark(packet: packet, topic: topic, payload: $0) }
        }
    }

    @Test func whatWasUnderWayAtADeathIsSuspect() {
        var record = DeliveryRecord()
        record.begin([Self.mark(1), Self.mark(2)])
        let next = record.afterDeath
        #expect(next.underWay.isEmpty)
        #expect((1...3).map { next.deaths(with: Self.mark($0)) } == [1, 1, 0])
        #expect(next.deaths(with: Self.mark(1, 8)) == 0)
    }

    @Test func eachDeathCountsForWhatWasUnderWayAlone() {
        var record = DeliveryRecord()
        record.begin([Self.mark(1), Self.mark(2)])
        for _ in 1...3 {
            record = record.afterDeath
            record.begin([Self.mark(1)])
        }
        #expect(record.deaths(with: Self.mark(1)) == 3)
        #expect(record.deaths(with: Self.mark(2)) == 1)
    }

    @Test func whatIsSettledIsClearedAndWhatIsNotStaysSuspect() {
        var record = DeliveryRecord()
        record.begin([Self.mark(1), Self.mark(2)])
        record = record.afterDeath
        record.begin([Self.mark(1)])
        #expect(record.end(isSettled: false) == false)
        #expect(record.suspects.count == 2 && record.underWay.isEmpty)
        record.begin([Self.mark(1)])
        #expect(record.end(isSettled: true) == true)
        #expect(record.suspects.map(\.mark) == [Self.mark(2)])
        record.begin([Self.mark(3)])
        #expect(record.end(isSettled: true) == false)
    }

    @Test func itHasNoMoreSuspectsThanItMay() {
        var record = DeliveryRecord()
        for start in [0, 200] {
            record.begin((start..<start + 200).map { Self.mark($0) })
            record = record.afterDeath
        }
        #expect(record.suspects.count == DeliveryRecord.suspectLimit)
        #expect(record.suspects.last?.mark == Self.mark(399))
        record.begin((0..<1_000).map { Self.mark($0, 9) })
        #expect(record.afterDeath.suspects.count == DeliveryRecord.suspectLimit)
    }

    @Test func itsBytesAreReadAsTheSame() throws {
        var record = DeliveryRecord()
        record.begin([Self.mark(1, .max), Self.mark(65_535, 1 << 63)])
        record = record.afterDeath
        record.begin([Self.mark(1, .max), Self.mark(9)])
        #expect(record.head.count == DeliveryRecord.underWayOffset)
        #expect(DeliveryRecord(record.head + record.tail) == record)
        #expect(DeliveryRecord(DeliveryRecord().head) == DeliveryRecord())
    }

    @Test func bytesThatAreNoRecordAreRefused() {
        var record = DeliveryRecord()
        record.begin([Self.mark(1), Self.mark(2)])
        let bytes = record.head + record.tail
        for count in 0..<bytes.count { #expect(DeliveryRecord(Array(bytes.prefix(count))) == nil) }
        // Byte 12 is left out: it would say 255 suspects, which is valid.
        for place in 0..<16 where place != 12 {
            var changed = bytes
            changed[place] = 0xFF
            #expect(DeliveryRecord(changed) == nil, "byte \(place)")
        }
    }

    @Test func aMarkTellsMessagesApartThatHaveTheSamePacketIdentifier() {
        let marks = [
            Self.mark(1, topic: "a", "b"), Self.mark(2, topic: "a", "b"), Self.mark(1, topic: "b", "b"),
            Self.mark(1, topic: "a", "c"), Self.mark(1, topic: "a", ""), Self.mark(1, topic: "ab", ""),
            Self.mark(1, topic: "a", "12345678 12345678"), Self.mark(1, topic: "a", "12345678  12345678"),
        ]
        #expect(Set(marks).count == marks.count)
        #expect(Self.mark(1, topic: "a", "b") == marks[0])
    }
}
