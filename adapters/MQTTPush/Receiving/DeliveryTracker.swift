import AdapterSupport
import SignalboxCore

/// Records in a file which messages are in flight, and recognizes those whose handling made earlier processes crash.
/// Belongs to the source's thread.
final class DeliveryTracker {
    private let limit: MQTTDeliveryLimit
    private let file: DeliveryFile
    private let log: BrokerLog
    private let receiveMaximum: Int
    private var record: DeliveryRecord
    /// The fingerprints of the batch being filled.
    private var fingerprints: [MessageFingerprint] = []
    /// How many other messages may arrive on this connection before the suspects are cleared.
    private var messagesUntilCleared: Int

    /// - Throws: ``DeliveryFileError``.
    init(_ limit: MQTTDeliveryLimit, receiveMaximum: Int, log: BrokerLog) throws(DeliveryFileError) {
        self.limit = limit
        self.log = log
        self.receiveMaximum = receiveMaximum
        file = try DeliveryFile(path: limit.file)
        // Long enough for any configuration: the previous one may have had longer batches.
        record = try file.read(limit: DeliveryRecord.inFlightOffset + 16 * 65_535).afterCrash
        messagesUntilCleared = receiveMaximum + record.suspects.count
        try file.write(record)
    }

    /// Whether messages must be handled one by one because one of them may have ended a process.
    var isIsolating: Bool { messagesUntilCleared > 0 && !record.suspects.isEmpty }

    /// Handles a new connection.
    ///
    /// - Parameter isSessionKept: Whether the broker kept the session. It then sends unacknowledged messages first.
    func connected(isSessionKept: Bool) {
        fingerprints = []
        messagesUntilCleared = receiveMaximum + record.suspects.count
        if !isSessionKept { clearSuspects() }
    }

    /// Adds a message to the batch being filled.
    ///
    /// - Parameter topic: The message's topic, for the rejection.
    /// - Returns: A rejection if the message has used up its deliveries.
    func received(_ fingerprint: MessageFingerprint, on topic: UnsafeRawBufferPointer) -> Outcome.Rejection? {
        fingerprints.append(fingerprint)
        guard !record.suspects.isEmpty else { return nil }
        let crashes = record.crashes(of: fingerprint)
        if crashes == 0, messagesUntilCleared > 0 {
            messagesUntilCleared -= 1
            if messagesUntilCleared == 0 { clearSuspects() }
        }
        guard crashes >= limit.deliveries else { return nil }
        return Outcome.Rejection(
            .deliveryLimit,
            detail: "the program ended \(crashes) times while handling this message on"
                + " \(String(decoding: topic, as: UTF8.self)); it is not handled again"
        )
    }

    /// Records that the batch is about to be handled.
    func begin() {
        guard !fingerprints.isEmpty else { return }
        record.begin(fingerprints)
        fingerprints.removeAll(keepingCapacity: true)
        save(isWhole: false)
    }

    /// Ends the batch.
    ///
    /// - Parameter isSettled: Whether its messages are settled and so are not redelivered.
    func end(isSettled: Bool) {
        guard !record.inFlight.isEmpty else { return }
        save(isWhole: record.end(isSettled: isSettled))
    }

    private func clearSuspects() {
        guard !record.suspects.isEmpty else { return }
        record.clearSuspects()
        save(isWhole: true)
    }

    /// - Parameter isWhole: Whether to write the suspects as well as the messages in flight.
    private func save(isWhole: Bool) {
        do throws(DeliveryFileError) {
            if isWhole { try file.write(record) } else { try file.writeInFlight(record) }
        } catch {
            log.deliveriesNotCounted(limit.file, error.reason)
        }
    }
}

/// A limit on deliveries of a message whose handling makes the process crash, so that one message cannot cause a crash
/// loop.
///
/// Only QoS 1 messages count: the broker redelivers them under the same packet identifier (MQTT 5.0, 4.4). A file lists
/// the messages in flight. Messages that it lists when a process starts are handled one by one, which clears those that
/// were merely in the same batch. A message that was listed ``deliveries`` times is `rejected(deliveryLimit)`: a
/// dead letter, acknowledged.
public struct MQTTDeliveryLimit: Sendable, Hashable {
    /// The path of the file, which is created with access for its owner only and locked while the source runs. Each
    /// further connection of the source has its own file, with `.` and the connection's name appended. If the file
    /// cannot be opened or written, a warning is logged and nothing is counted.
    public var file: String
    /// The maximum number of deliveries of a message, 1 to 1,000; 5 by default.
    public var deliveries: Int

    /// Creates a limit.
    public init(file: String, deliveries: Int = 5) {
        self.file = file
        self.deliveries = deliveries
    }

    func validate() throws(MQTTPushError) {
        try MQTTPushError.check([
            (!file.isEmpty && !file.utf8.contains(0), "the file name of the deliveries is empty"),
            (1...1_000 ~= deliveries, "a message must get 1 to 1000 deliveries"),
        ])
    }
}

/// The file of a ``DeliveryRecord``. Writes survive the process but are not synced: a message whose entry is lost in a
/// power failure gets one more delivery.
final class DeliveryFile {
    private let descriptor: Int32

    /// Opens or creates the file with access for its owner only, and locks it against other processes.
    ///
    /// - Throws: ``DeliveryFileError``.
    init(path: String) throws(DeliveryFileError) {
        // Non-blocking, so that opening a FIFO by mistake does not wait.
        let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { throw .last }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            close(opened)
            throw DeliveryFileError(reason: "it is not a regular file owned by this user")
        }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            close(opened)
            throw DeliveryFileError(reason: "another process or source uses it")
        }
        // Assigned last: after that, a throw would run the deinitializer and close the descriptor twice.
        descriptor = opened
    }

    deinit {
        // A process that is just being started may still share the descriptor, and would keep the lock (flock(2)).
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Returns the record in the file; an empty one if the file is new or has other content.
    func read(limit: Int) throws(DeliveryFileError) -> DeliveryRecord {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw .last }
        return DeliveryRecord(Array(bytes.prefix(count))) ?? DeliveryRecord()
    }

    /// Writes the whole record, the messages before their count.
    func write(_ record: DeliveryRecord) throws(DeliveryFileError) {
        try write(record.tail, at: DeliveryRecord.inFlightOffset)
        try write(record.head, at: 0)
    }

    /// Writes the messages in flight, and then their count.
    func writeInFlight(_ record: DeliveryRecord) throws(DeliveryFileError) {
        try write(record.tail, at: DeliveryRecord.inFlightOffset)
        var count: [UInt8] = []
        count.append(littleEndian: UInt32(record.inFlight.count))
        try write(count, at: DeliveryRecord.countOffset)
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(DeliveryFileError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                pwrite(descriptor, all.baseAddress?.advanced(by: done), all.count - done, off_t(offset + done))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw .last }
            done += count
        }
    }
}

/// The reason why deliveries cannot be counted.
struct DeliveryFileError: Error {
    let reason: String

    static var last: DeliveryFileError { DeliveryFileError(reason: String(cString: strerror(errno))) }
}
