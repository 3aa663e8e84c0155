import AdapterSupport
import SignalboxCore

/// Records in a file which messages are in flight, and recognizes messages that were in flight when earlier processes
/// crashed. A tracker is used only by its connection's thread.
final class DeliveryTracker {
    private let limit: MQTTDeliveryLimit
    private let file: DeliveryFile
    private let log: BrokerLog
    private let receiveMaximum: Int
    private var record: DeliveryRecord
    /// The fingerprints of the batch that is being filled.
    private var fingerprints: [MessageFingerprint] = []
    /// How many messages other than suspects may still arrive on this connection before the suspects are cleared.
    private var messagesUntilCleared: Int

    /// - Throws: ``DeliveryFileError``.
    init(_ limit: MQTTDeliveryLimit, receiveMaximum: Int, log: BrokerLog) throws(DeliveryFileError) {
        self.limit = limit
        self.log = log
        self.receiveMaximum = receiveMaximum
        file = try DeliveryFile(path: limit.file)
        // The file may have been written with a configuration that allows larger batches, so this limit is large enough
        // for every configuration.
        record = try file.read(limit: DeliveryRecord.inFlightOffset + 16 * 65_535).afterCrash
        messagesUntilCleared = receiveMaximum + record.suspects.count
        try file.write(record)
    }

    /// Whether messages must be handled one at a time, because one of them may have crashed a process.
    var isIsolating: Bool { messagesUntilCleared > 0 && !record.suspects.isEmpty }

    /// Handles a new connection.
    ///
    /// - Parameter isSessionKept: Whether the broker kept the session. A broker that did so first sends the messages
    ///   that were not acknowledged.
    func connected(isSessionKept: Bool) {
        fingerprints = []
        messagesUntilCleared = receiveMaximum + record.suspects.count
        if !isSessionKept { clearSuspects() }
    }

    /// Adds a message to the batch that is being filled.
    ///
    /// - Parameter topic: The message's topic, which is included in the text of a rejection.
    /// - Returns: A rejection if the message has used up its deliveries, otherwise `nil`.
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
    /// - Parameter isSettled: Whether all messages in the batch are settled and will therefore not be redelivered.
    func end(isSettled: Bool) {
        guard !record.inFlight.isEmpty else { return }
        save(isWhole: record.end(isSettled: isSettled))
    }

    private func clearSuspects() {
        guard !record.suspects.isEmpty else { return }
        record.clearSuspects()
        save(isWhole: true)
    }

    /// - Parameter isWhole: Whether to write the suspects in addition to the messages in flight.
    private func save(isWhole: Bool) {
        do throws(DeliveryFileError) {
            if isWhole { try file.write(record) } else { try file.writeInFlight(record) }
        } catch {
            log.deliveriesNotCounted(limit.file, error.reason)
        }
    }
}

/// Limits how often a message is delivered if handling it crashes the process.
///
/// Use a limit if the process is restarted after a crash. Without one, the broker redelivers the message that caused
/// the crash after each restart, so a single message can keep the program from working.
///
/// The adapter lists the messages in flight in a file. If the file lists any messages when a process starts, the
/// process handles messages one at a time, which clears those that only happened to be in the same batch as the cause
/// of the crash. A message that was in flight during ``deliveries`` crashes is `rejected(deliveryLimit)`, so it becomes
/// a dead letter and is acknowledged.
///
/// Only QoS 1 messages are counted, because the broker redelivers them with the same packet identifier (MQTT 5.0, 4.4).
public struct MQTTDeliveryLimit: Sendable, Hashable {
    /// The path of the file that lists the messages in flight.
    ///
    /// The adapter creates the file so that only the file's owner has access, and locks it while the source runs. If
    /// the file cannot be opened or written, a warning is logged and deliveries are not counted.
    ///
    /// Each additional connection of the source uses a separate file, with `.` and the connection's name appended to
    /// the path.
    public var file: String
    /// The maximum number of times to deliver a message. Must be between 1 and 1,000; the default is 5.
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

/// The file that stores a ``DeliveryRecord``. Written data survives the end of the process, but is not synced to disk.
/// If a power failure loses a message's entry, the message is delivered one more time.
final class DeliveryFile {
    private let descriptor: Int32

    /// Opens the file and locks it against other processes. A new file is created so that only its owner has access.
    ///
    /// - Throws: ``DeliveryFileError``.
    init(path: String) throws(DeliveryFileError) {
        // If the path is a FIFO by mistake, opening it without O_NONBLOCK could block.
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
        // This must be the last statement. If anything after it threw an error, the deinitializer would run and close
        // the descriptor a second time.
        descriptor = opened
    }

    deinit {
        // A process that is just being started may still share the descriptor, which would keep the lock (flock(2)).
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Returns the record in the file. If the file is new or does not contain a record, an empty record is returned.
    func read(limit: Int) throws(DeliveryFileError) -> DeliveryRecord {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw .last }
        return DeliveryRecord(Array(bytes.prefix(count))) ?? DeliveryRecord()
    }

    /// Writes the whole record. The messages are written before their count, so the count never includes a message that
    /// is missing.
    func write(_ record: DeliveryRecord) throws(DeliveryFileError) {
        try write(record.tail, at: DeliveryRecord.inFlightOffset)
        try write(record.head, at: 0)
    }

    /// Writes only the messages in flight, followed by their count.
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
