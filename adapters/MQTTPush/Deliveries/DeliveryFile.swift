#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The file of a ``DeliveryRecord``. Writes survive the process but are not synced: a message whose entry is lost in a power
/// failure gets one more delivery.
final class DeliveryFile {
    private let descriptor: Int32

    /// Opens or creates the file, for its owner alone, and locks it against other processes.
    ///
    /// - Throws: ``DeliveryFileError``.
    init(path: String) throws(DeliveryFileError) {
        // Non-blocking, so that opening a FIFO by mistake does not wait.
        let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { throw .last }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            close(opened)
            throw DeliveryFileError(reason: "it is not a regular file that this user owns")
        }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            close(opened)
            throw DeliveryFileError(reason: "another process or source uses it")
        }
        // Last: once it is set, a throw runs the deinitializer, which would close it a second time.
        descriptor = opened
    }

    deinit {
        close(descriptor)
    }

    /// The record in the file; an empty one if the file is new or holds something else.
    func read(limit: Int) throws(DeliveryFileError) -> DeliveryRecord {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw .last }
        return DeliveryRecord(Array(bytes.prefix(count))) ?? DeliveryRecord()
    }

    /// Writes the whole record, the messages before their count.
    func write(_ record: DeliveryRecord) throws(DeliveryFileError) {
        try write(record.tail, at: DeliveryRecord.underWayOffset)
        try write(record.head, at: 0)
    }

    /// Writes the messages that are under way, and then their count.
    func writeUnderWay(_ record: DeliveryRecord) throws(DeliveryFileError) {
        try write(record.tail, at: DeliveryRecord.underWayOffset)
        var count: [UInt8] = []
        count.append(littleEndian: UInt32(record.underWay.count))
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

/// Why deliveries cannot be counted.
struct DeliveryFileError: Error, CustomStringConvertible {
    let reason: String

    static var last: DeliveryFileError { DeliveryFileError(reason: String(cString: strerror(errno))) }

    var description: String { reason }
}
