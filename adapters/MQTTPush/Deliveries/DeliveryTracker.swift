#if MQTT
import AdapterSupport
import SignalboxCore

/// Records in a file which messages are in flight, and recognizes messages that were in flight when earlier processes
/// crashed. A tracker is used only by its connection's thread.
///
/// Before messages are submitted, call ``begin(from:_:)``. After their acknowledgements are written to the connection,
/// call ``settled(upTo:)``. After the last message of a connection is settled, call ``drained()``.
///
/// Each call writes to the file only if it changes something: 16 bytes for each message, in at most two parts, and 16
/// bytes of the header. A connection that delivers no QoS 1 messages writes nothing.
final class DeliveryTracker {
    private let limit: MQTTDeliveryLimit
    private let file: DeliveryFile
    private let log: BrokerLog
    private let receiveMaximum: Int
    private var record: DeliveryRecord
    /// Whether a write failed, so that the content of the file is unknown.
    private var isDamaged = false
    /// How many messages other than suspects may still arrive on this connection before the suspects are cleared.
    private var messagesUntilCleared: Int

    /// - Parameter receiveMaximum: The capacity of the acknowledgement ring.
    /// - Throws: ``DeliveryFileError``.
    init(_ limit: MQTTDeliveryLimit, receiveMaximum: Int, log: BrokerLog) throws(DeliveryFileError) {
        self.limit = limit
        self.log = log
        self.receiveMaximum = receiveMaximum
        file = try DeliveryFile(path: limit.file)
        record = try file.read().afterCrash(capacity: receiveMaximum)
        messagesUntilCleared = receiveMaximum + record.suspects.count
        for part in record.whole() { try file.write(part) }
    }

    /// Whether messages must be handled one at a time, because one of them may have crashed a process.
    var isIsolating: Bool { messagesUntilCleared > 0 && !record.suspects.isEmpty }

    /// Whether the next message may be read.
    ///
    /// While messages are handled one at a time, the acknowledgement of each must be written before the next is read.
    /// Otherwise, a crash of the next message would count for both, and the broker would redeliver both.
    var mayReceive: Bool { !isIsolating || record.count == 0 }

    /// Handles a new connection. The messages of the previous connection must be settled.
    ///
    /// - Parameter isSessionKept: Whether the broker kept the session. A broker that did so first sends the messages
    ///   that were not acknowledged.
    func connected(isSessionKept: Bool) {
        drained()
        messagesUntilCleared = receiveMaximum + record.suspects.count
        if !isSessionKept { clearSuspects() }
    }

    /// Handles a message that has arrived.
    ///
    /// - Parameter topic: The message's topic, which is included in the text of a rejection.
    /// - Returns: A rejection if the message has used up its deliveries, otherwise `nil`.
    func received(_ fingerprint: MessageFingerprint, on topic: UnsafeRawBufferPointer) -> Outcome.Rejection? {
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

    /// Records that messages are about to be submitted. They include rejected messages.
    ///
    /// - Parameters:
    ///   - token: The token of the first message. Each further message has the next token.
    ///   - fingerprints: One element for each message, which is `nil` for a message that is not counted: one at QoS 0, or
    ///     an event of the adapter itself.
    func begin(from token: UInt64, _ fingerprints: [MessageFingerprint?]) {
        save(record.begin(from: token, fingerprints))
    }

    /// Records that acknowledgements were written, so the broker does not redeliver their messages.
    ///
    /// - Parameter token: The token behind the last of these messages on the connection, as in ``GateSink/State/head``
    ///   when the acknowledgements were taken. A token of another connection has no effect.
    func settled(upTo token: UInt64) {
        save(record.settle(upTo: token))
    }

    /// Records that no message is in flight: the connection has ended, and all its messages are settled.
    ///
    /// Those that were not acknowledged are redelivered on the next connection. They have crashed no process, but those
    /// that were suspects remain suspects.
    func drained() {
        save(record.drain())
    }

    private func clearSuspects() {
        save(record.clearSuspects())
    }

    private func save(_ parts: [DeliveryWrite]) {
        guard !parts.isEmpty else { return }
        do throws(DeliveryFileError) {
            for part in isDamaged ? record.whole() : parts { try file.write(part) }
            isDamaged = false
        } catch {
            isDamaged = true
            log.deliveriesNotCounted(limit.file, error.reason)
        }
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
    func read() throws(DeliveryFileError) -> DeliveryRecord {
        var bytes = [UInt8](repeating: 0, count: DeliveryFormat.fileLimit)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw .last }
        return DeliveryRecord(Array(bytes.prefix(count))) ?? DeliveryRecord()
    }

    func write(_ part: DeliveryWrite) throws(DeliveryFileError) {
        var done = 0
        while done < part.bytes.count {
            let count = part.bytes.withUnsafeBytes { all in
                pwrite(descriptor, all.baseAddress?.advanced(by: done), all.count - done, off_t(part.offset + done))
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
#endif
