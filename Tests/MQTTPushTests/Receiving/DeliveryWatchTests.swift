import Foundation
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

@testable import MQTTPush

@Suite struct DeliveryWatchTests {
    private struct Trial {
        let path: String
        let lines = EventList<String>()

        /// Starts a simulated process, which dies when the watch is released.
        func process(deliveries: Int = 2, receiveMaximum: Int = 20) throws -> DeliveryWatch {
            let configuration = try MQTTPushConfiguration.test(port: 1, [MQTTTopic("push/{action}")])
            let log = PushLog(Logger(label: "push") { _ in RecordingLog(lines) }, configuration: configuration)
            let limit = MQTTDeliveryLimit(file: path, deliveries: deliveries)
            return try DeliveryWatch(limit, receiveMaximum: receiveMaximum, log: log)
        }

        /// Simulates a process that dies while it handles these packets.
        func die(handling packets: UInt16...) throws {
            let watch = try process()
            watch.connected(isSessionKept: true)
            for packet in packets { _ = watch.received(Trial.mark(packet)) }
            watch.begin()
        }

        static func mark(_ packet: UInt16) -> DeliveryMark { DeliveryMark(packet: packet, check: 1) }
    }

    private static func withTrial(_ body: (Trial) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("deliveries-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(Trial(path: folder.appendingPathComponent("push").path))
    }

    @Test func aMessageThatEndedTheProcessAsOftenAsItMayIsRefused() throws {
        try Self.withTrial { trial in
            try trial.die(handling: 1, 2)
            try trial.die(handling: 1)
            let watch = try trial.process()
            watch.connected(isSessionKept: true)
            #expect(watch.isIsolating)
            let refusal = watch.received(Trial.mark(1))
            #expect(refusal?.reason == .deliveryLimit)
            #expect(refusal?.detail.contains("2 times while handling this message on push/hang") == true)
            watch.begin()
            watch.end(isSettled: true)
            #expect(watch.received(Trial.mark(2)) == nil)
            watch.begin()
            watch.end(isSettled: true)
            #expect(!watch.isIsolating)
            #expect(watch.received(Trial.mark(1)) == nil)
        }
    }

    @Test func whatAProcessSettledOrGaveBackBeforeItEndedDoesNotCount() throws {
        try Self.withTrial { trial in
            for isSettled in [true, false] {
                let watch = try trial.process()
                watch.connected(isSessionKept: true)
                #expect(!watch.isIsolating)
                _ = watch.received(Trial.mark(1))
                watch.begin()
                watch.end(isSettled: isSettled)
            }
            #expect(try !trial.process().isIsolating)
        }
    }

    @Test func aLostSessionClearsAllSuspects() throws {
        try Self.withTrial { trial in
            try trial.die(handling: 1)
            let watch = try trial.process()
            watch.connected(isSessionKept: false)
            #expect(!watch.isIsolating)
        }
    }

    /// The broker sends a retained message with each subscription, whatever the state of the session.
    @Test func aRetainedMessageIsStillCountedInAnotherSession() throws {
        try Self.withTrial { trial in
            for _ in 1...2 { try trial.die(handling: 0) }
            let watch = try trial.process(receiveMaximum: 1)
            watch.connected(isSessionKept: false)
            #expect(watch.isIsolating)
            for packet: UInt16 in 1...3 { _ = watch.received(Trial.mark(packet)) }
            #expect(!watch.isIsolating)
            #expect(watch.received(Trial.mark(0))?.reason == .deliveryLimit)
        }
    }

    /// The broker redelivers unacknowledged messages before all others.
    @Test func suspectsThatDoNotComeAgainAreForgotten() throws {
        try Self.withTrial { trial in
            try trial.die(handling: 1)
            let watch = try trial.process(receiveMaximum: 3)
            watch.connected(isSessionKept: true)
            for packet: UInt16 in 2...4 {
                _ = watch.received(Trial.mark(packet))
                #expect(watch.isIsolating)
            }
            _ = watch.received(Trial.mark(5))
            #expect(!watch.isIsolating)
        }
    }

    @Test func theFileIsForItsOwnerAloneAndForOneProcess() throws {
        try Self.withTrial { trial in
            let watch = try trial.process()
            let mode = try FileManager.default.attributesOfItem(atPath: trial.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(throws: DeliveryFileError.self) { try trial.process() }
            withExtendedLifetime(watch) {}
        }
    }

    @Test func aLinkIsNotFollowedAndAFolderIsNoFile() throws {
        try Self.withTrial { trial in
            try FileManager.default.createSymbolicLink(atPath: trial.path, withDestinationPath: trial.path + ".target")
            #expect(throws: DeliveryFileError.self) { try trial.process() }
            try FileManager.default.removeItem(atPath: trial.path)
            try FileManager.default.createDirectory(atPath: trial.path, withIntermediateDirectories: true)
            #expect(throws: DeliveryFileError.self) { try trial.process() }
        }
    }

    @Test func aFileThatIsNoRecordIsWrittenAnew() throws {
        try Self.withTrial { trial in
            try Data(repeating: 0x61, count: 9_000).write(to: URL(fileURLWithPath: trial.path))
            #expect(try !trial.process().isIsolating)
            try trial.die(handling: 1)
            #expect(try trial.process().isIsolating)
        }
    }
}

extension DeliveryWatch {
    fileprivate func received(_ mark: DeliveryMark) -> Outcome.Rejection? {
        Array("push/hang".utf8).withUnsafeBytes { received(mark, on: $0) }
    }
}

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
        // Byte 12 is left out: 0xFF there means 255 suspects, which is valid.
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
