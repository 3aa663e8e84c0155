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

        /// Starts a process, which dies when the watch is released.
        func process(deliveries: Int = 2, receiveMaximum: Int = 20) throws -> DeliveryWatch {
            let configuration = try MQTTPushConfiguration.test(port: 1, [MQTTTopic("push/{action}")])
            let log = PushLog(Logger(label: "push") { _ in RecordingLog(lines) }, configuration: configuration)
            let limit = MQTTDeliveryLimit(file: path, deliveries: deliveries)
            return try DeliveryWatch(limit, receiveMaximum: receiveMaximum, log: log)
        }

        /// Runs a process that dies while handling these.
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

    /// The broker sends it with each subscription, whatever it knows of the session.
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

    /// The broker sends unacknowledged messages before all others.
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
