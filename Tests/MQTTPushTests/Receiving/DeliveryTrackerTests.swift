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
        func crash(handling packets: UInt16..., receiveMaximum: Int = 20) throws {
            let tracker = try process(receiveMaximum: receiveMaximum)
            tracker.connected(isSessionKept: true)
            for packet in packets { _ = tracker.received(Trial.fingerprint(packet)) }
            tracker.begin(from: 0, packets.map { Trial.fingerprint($0) })
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
            tracker.begin(from: 0, [Trial.fingerprint(1)])
            tracker.settled(upTo: 1)
            #expect(tracker.received(Trial.fingerprint(2)) == nil)
            tracker.begin(from: 1, [Trial.fingerprint(2)])
            tracker.settled(upTo: 2)
            #expect(!tracker.isIsolating)
            #expect(tracker.received(Trial.fingerprint(1)) == nil)
        }
    }

    @Test func messagesThatAreSettledOrDrainedAreNoSuspects() throws {
        try Self.withTrial { trial in
            for isSettled in [true, false] {
                let tracker = try trial.process()
                tracker.connected(isSessionKept: true)
                #expect(!tracker.isIsolating)
                _ = tracker.received(Trial.fingerprint(1))
                tracker.begin(from: 0, [Trial.fingerprint(1)])
                if isSettled { tracker.settled(upTo: 1) } else { tracker.drained() }
            }
            #expect(try !trial.process().isIsolating)
        }
    }

    @Test func onlyUnacknowledgedMessagesAreSuspects() throws {
        try Self.withTrial { trial in
            do {
                let tracker = try trial.process()
                tracker.connected(isSessionKept: true)
                tracker.begin(from: 0, [Trial.fingerprint(1), nil, Trial.fingerprint(2)])
                tracker.begin(from: 3, [Trial.fingerprint(3)])
                tracker.settled(upTo: 2)
            }
            let tracker = try trial.process(deliveries: 1)
            tracker.connected(isSessionKept: true)
            #expect((1...4).map { tracker.received(Trial.fingerprint($0)) != nil } == [false, true, true, false])
        }
    }

    /// If the second message were submitted before the first is acknowledged, its crash would count for both.
    @Test func anIsolatedMessageIsAcknowledgedBeforeTheNextIsRead() throws {
        try Self.withTrial { trial in
            try trial.crash(handling: 1, 2)
            let tracker = try trial.process()
            tracker.connected(isSessionKept: true)
            #expect(tracker.isIsolating && tracker.mayReceive)
            tracker.begin(from: 0, [Trial.fingerprint(1)])
            #expect(!tracker.mayReceive)
            tracker.settled(upTo: 1)
            #expect(tracker.isIsolating && tracker.mayReceive)
            tracker.begin(from: 1, [Trial.fingerprint(2)])
            #expect(!tracker.mayReceive)
            tracker.settled(upTo: 2)
            tracker.begin(from: 2, [Trial.fingerprint(3)])
            #expect(!tracker.isIsolating && tracker.mayReceive)
        }
    }

    @Test func aMessageThatIsRedeliveredInTheSameProcessKeepsItsCrashes() throws {
        try Self.withTrial { trial in
            try trial.crash(handling: 1)
            do {
                let tracker = try trial.process()
                for _ in 1...3 {
                    tracker.connected(isSessionKept: true)
                    #expect(tracker.isIsolating && tracker.mayReceive)
                    #expect(tracker.received(Trial.fingerprint(1)) == nil)
                    tracker.begin(from: 0, [Trial.fingerprint(1), Trial.fingerprint(2)])
                }
                tracker.drained()
            }
            let tracker = try trial.process(deliveries: 1)
            tracker.connected(isSessionKept: true)
            #expect(tracker.received(Trial.fingerprint(1))?.detail.contains("1 times") == true)
            #expect(tracker.received(Trial.fingerprint(2)) == nil)
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

    @Test func theReceiveMaximumMayChangeBetweenProcesses() throws {
        try Self.withTrial { trial in
            try trial.crash(handling: 1, 2, 3, 4, 5, receiveMaximum: 5)
            try trial.crash(handling: 1, 2, receiveMaximum: 2)
            try trial.crash(handling: 1, receiveMaximum: 65_535)
            let tracker = try trial.process(deliveries: 1)
            tracker.connected(isSessionKept: true)
            let details = (1...6).map { tracker.received(Trial.fingerprint($0))?.detail.prefix(25) }
            let times = [3, 2, 1, 1, 1].map { "the program ended \($0) times" as Substring }
            #expect(details == times.map { $0.prefix(25) } + [nil])
        }
    }

    @Test func aFileOfVersion1IsRead() throws {
        try Self.withTrial { trial in
            try Data(versionOne).write(to: URL(fileURLWithPath: trial.path))
            let tracker = try trial.process()
            tracker.connected(isSessionKept: true)
            #expect(tracker.received(Trial.fingerprint(1))?.detail.contains("3 times") == true)
            #expect(tracker.received(Trial.fingerprint(2)) == nil)
            #expect(tracker.isIsolating)
        }
    }

    @Test func aFailedWriteIsLoggedAndMadeUpFor() throws {
        try Self.withTrial { trial in
            try trial.crash(handling: 9)
            do {
                let tracker = try trial.process()
                tracker.connected(isSessionKept: true)
                tracker.begin(from: 0, [Trial.fingerprint(1)])
                #expect(trial.lines.all.isEmpty)
                let written = try Data(contentsOf: URL(fileURLWithPath: trial.path))
                try reopenDescriptors(of: trial.path, O_RDONLY)
                tracker.begin(from: 1, [Trial.fingerprint(2)])
                tracker.settled(upTo: 1)
                // There is one line for such an error per minute.
                #expect(trial.lines.all.count == 1)
                #expect(try Data(contentsOf: URL(fileURLWithPath: trial.path)) == written)
                try reopenDescriptors(of: trial.path, O_RDWR)
                tracker.begin(from: 2, [Trial.fingerprint(3)])
                #expect(trial.lines.all.count == 1)
            }
            let tracker = try trial.process(deliveries: 1)
            tracker.connected(isSessionKept: true)
            let isSuspect = [1, 2, 3, 9].map { tracker.received(Trial.fingerprint($0)) != nil }
            #expect(isSuspect == [false, true, true, true])
        }
    }

    /// Opens a file again at the same descriptors, with another access mode.
    private func reopenDescriptors(of path: String, _ mode: Int32) throws {
        var (wanted, status) = (stat(), stat())
        try #require(stat(path, &wanted) == 0)
        let new = open(path, mode | O_CLOEXEC)
        defer { close(new) }
        for descriptor in 3..<Int32(1_024) where descriptor != new {
            guard fstat(descriptor, &status) == 0, status.st_ino == wanted.st_ino, status.st_dev == wanted.st_dev else {
                continue
            }
            try #require(dup2(new, descriptor) == descriptor)
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

/// A file of version 1 with the suspects 1 and 3, which crashed two processes, and the messages 1 and 2 in flight.
let versionOne: [UInt8] = {
    func item(_ crashes: UInt8, _ packet: UInt8) -> [UInt8] {
        [crashes, 0, 0, 0, packet, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    }
    let head = Array("SBXDLV1\n".utf8) + [2, 0, 0, 0, 2, 0, 0, 0] + item(2, 1) + item(2, 3)
    return head + [UInt8](repeating: 0, count: 16 + 256 * 16 - head.count) + item(0, 1) + item(0, 2)
}()
