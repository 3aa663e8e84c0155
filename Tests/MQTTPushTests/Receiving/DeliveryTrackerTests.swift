import Foundation
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

@Suite struct DeliveryTrackerTests {
    private struct Trial {
        let path: String
        let lines = EventList<String>()

        /// Starts a simulated process, which crashes when the tracker is released.
        func process(deliveries: Int = 2, receiveMaximum: Int = 20) throws -> DeliveryTracker {
            let configuration = try MQTTPushConfiguration.test(port: 1, [MQTTTopic("push/{action}")])
            let log = BrokerLog(Logger(label: "push") { _ in RecordingLog(lines) }, configuration: configuration)
            let limit = MQTTDeliveryLimit(file: path, deliveries: deliveries)
            return try DeliveryTracker(limit, receiveMaximum: receiveMaximum, log: log)
        }

        /// Simulates a process that crashes while it handles these packets.
        func crash(handling packets: UInt16...) throws {
            let tracker = try process()
            tracker.connected(isSessionKept: true)
            for packet in packets { _ = tracker.received(Trial.fingerprint(packet)) }
            tracker.begin()
        }

        static func fingerprint(_ packet: UInt16) -> MessageFingerprint {
            MessageFingerprint(packetID: packet, checksum: 1)
        }
    }

    private static func withTrial(_ body: (Trial) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("deliveries-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(Trial(path: folder.appendingPathComponent("push").path))
    }

    @Test func aMessageOverItsDeliveryLimitIsRejected() throws {
        try Self.withTrial { trial in
            try trial.crash(handling: 1, 2)
            try trial.crash(handling: 1)
            let tracker = try trial.process()
            tracker.connected(isSessionKept: true)
            #expect(tracker.isIsolating)
            let rejection = tracker.received(Trial.fingerprint(1))
            #expect(rejection?.reason == .deliveryLimit)
            #expect(rejection?.detail.contains("2 times while handling this message on push/hang") == true)
            tracker.begin()
            tracker.end(isSettled: true)
            #expect(tracker.received(Trial.fingerprint(2)) == nil)
            tracker.begin()
            tracker.end(isSettled: true)
            #expect(!tracker.isIsolating)
            #expect(tracker.received(Trial.fingerprint(1)) == nil)
        }
    }

    @Test func messagesOfAnEndedBatchAreNoSuspects() throws {
        try Self.withTrial { trial in
            for isSettled in [true, false] {
                let tracker = try trial.process()
                tracker.connected(isSessionKept: true)
                #expect(!tracker.isIsolating)
                _ = tracker.received(Trial.fingerprint(1))
                tracker.begin()
                tracker.end(isSettled: isSettled)
            }
            #expect(try !trial.process().isIsolating)
        }
    }

    @Test func aLostSessionClearsAllSuspects() throws {
        try Self.withTrial { trial in
            try trial.crash(handling: 1)
            let tracker = try trial.process()
            tracker.connected(isSessionKept: false)
            #expect(!tracker.isIsolating)
        }
    }

    /// The broker sends a retained message with each subscription, regardless of the session's state.
    @Test func aRetainedMessageIsCountedAcrossSessions() throws {
        try Self.withTrial { trial in
            for _ in 1...2 { try trial.crash(handling: 0) }
            let tracker = try trial.process(receiveMaximum: 1)
            tracker.connected(isSessionKept: false)
            #expect(tracker.isIsolating)
            for packet: UInt16 in 1...3 { _ = tracker.received(Trial.fingerprint(packet)) }
            #expect(!tracker.isIsolating)
            #expect(tracker.received(Trial.fingerprint(0))?.reason == .deliveryLimit)
        }
    }

    /// The broker redelivers unacknowledged messages before all others.
    @Test func suspectsThatAreNotRedeliveredAreCleared() throws {
        try Self.withTrial { trial in
            try trial.crash(handling: 1)
            let tracker = try trial.process(receiveMaximum: 3)
            tracker.connected(isSessionKept: true)
            for packet: UInt16 in 2...4 {
                _ = tracker.received(Trial.fingerprint(packet))
                #expect(tracker.isIsolating)
            }
            _ = tracker.received(Trial.fingerprint(5))
            #expect(!tracker.isIsolating)
        }
    }

    @Test func theFileIsPrivateAndUsedByOneProcess() throws {
        try Self.withTrial { trial in
            let tracker = try trial.process()
            let mode = try FileManager.default.attributesOfItem(atPath: trial.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(throws: DeliveryFileError.self) { try trial.process() }
            withExtendedLifetime(tracker) {}
        }
    }

    @Test func aSymbolicLinkOrFolderIsRefused() throws {
        try Self.withTrial { trial in
            try FileManager.default.createSymbolicLink(atPath: trial.path, withDestinationPath: trial.path + ".target")
            #expect(throws: DeliveryFileError.self) { try trial.process() }
            try FileManager.default.removeItem(atPath: trial.path)
            try FileManager.default.createDirectory(atPath: trial.path, withIntermediateDirectories: true)
            #expect(throws: DeliveryFileError.self) { try trial.process() }
        }
    }

    @Test func anInvalidFileIsOverwritten() throws {
        try Self.withTrial { trial in
            try Data(repeating: 0x61, count: 9_000).write(to: URL(fileURLWithPath: trial.path))
            #expect(try !trial.process().isIsolating)
            try trial.crash(handling: 1)
            #expect(try trial.process().isIsolating)
        }
    }
}

extension DeliveryTracker {
    fileprivate func received(_ fingerprint: MessageFingerprint) -> Outcome.Rejection? {
        Array("push/hang".utf8).withUnsafeBytes { received(fingerprint, on: $0) }
    }
}

@Suite struct DeliveryRecordTests {
    private static func fingerprint(_ packet: Int, _ checksum: UInt64 = 7) -> MessageFingerprint {
        MessageFingerprint(packetID: UInt16(truncatingIfNeeded: packet), checksum: checksum)
    }

    private static func fingerprint(_ packet: UInt16, topic: String, _ payload: String) -> MessageFingerprint {
        Array(topic.utf8).withUnsafeBytes { topic in
            Array(payload.utf8).withUnsafeBytes { MessageFingerprint(packetID: packet, topic: topic, payload: $0) }
        }
    }

    @Test func messagesInFlightAtACrashAreSuspects() {
        var record = DeliveryRecord()
        record.begin([Self.fingerprint(1), Self.fingerprint(2)])
        let next = record.afterCrash
        #expect(next.inFlight.isEmpty)
        #expect((1...3).map { next.crashes(of: Self.fingerprint($0)) } == [1, 1, 0])
        #expect(next.crashes(of: Self.fingerprint(1, 8)) == 0)
    }

    @Test func eachCrashCountsOnlyForMessagesInFlight() {
        var record = DeliveryRecord()
        record.begin([Self.fingerprint(1), Self.fingerprint(2)])
        for _ in 1...3 {
            record = record.afterCrash
            record.begin([Self.fingerprint(1)])
        }
        #expect(record.crashes(of: Self.fingerprint(1)) == 3)
        #expect(record.crashes(of: Self.fingerprint(2)) == 1)
    }

    @Test func settledMessagesAreClearedAndOthersStaySuspects() {
        var record = DeliveryRecord()
        record.begin([Self.fingerprint(1), Self.fingerprint(2)])
        record = record.afterCrash
        record.begin([Self.fingerprint(1)])
        #expect(record.end(isSettled: false) == false)
        #expect(record.suspects.count == 2 && record.inFlight.isEmpty)
        record.begin([Self.fingerprint(1)])
        #expect(record.end(isSettled: true) == true)
        #expect(record.suspects.map(\.fingerprint) == [Self.fingerprint(2)])
        record.begin([Self.fingerprint(3)])
        #expect(record.end(isSettled: true) == false)
    }

    @Test func theNumberOfSuspectsIsLimited() {
        var record = DeliveryRecord()
        for start in [0, 200] {
            record.begin((start..<start + 200).map { Self.fingerprint($0) })
            record = record.afterCrash
        }
        #expect(record.suspects.count == DeliveryRecord.suspectLimit)
        #expect(record.suspects.last?.fingerprint == Self.fingerprint(399))
        record.begin((0..<1_000).map { Self.fingerprint($0, 9) })
        #expect(record.afterCrash.suspects.count == DeliveryRecord.suspectLimit)
    }

    @Test func theEncodingRoundTrips() throws {
        var record = DeliveryRecord()
        record.begin([Self.fingerprint(1, .max), Self.fingerprint(65_535, 1 << 63)])
        record = record.afterCrash
        record.begin([Self.fingerprint(1, .max), Self.fingerprint(9)])
        #expect(record.head.count == DeliveryRecord.inFlightOffset)
        #expect(DeliveryRecord(record.head + record.tail) == record)
        #expect(DeliveryRecord(DeliveryRecord().head) == DeliveryRecord())
    }

    @Test func invalidRecordBytesAreRefused() {
        var record = DeliveryRecord()
        record.begin([Self.fingerprint(1), Self.fingerprint(2)])
        let bytes = record.head + record.tail
        for count in 0..<bytes.count { #expect(DeliveryRecord(Array(bytes.prefix(count))) == nil) }
        // Byte 12 is left out: 0xFF there means 255 suspects, which is valid.
        for index in 0..<16 where index != 12 {
            var changed = bytes
            changed[index] = 0xFF
            #expect(DeliveryRecord(changed) == nil, "byte \(index)")
        }
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
