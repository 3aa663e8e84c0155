import Foundation
import Synchronization

/// The open file of a ``Ledger``. Its calls block, so they are made on the ledger's own queue.
final class LedgerFile: Sendable {
    /// Which file it is.
    let identity: FileIdentity
    private let descriptor: Int32
    /// Set when the content of the disk is no longer known.
    private let broken = Mutex<OutputFailure?>(nil)

    init(path: String) throws(LedgerError) {
        // Non-blocking, so that opening a FIFO by mistake does not wait for a reader; regular files know no such thing.
        let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW
        descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else {
            let error = SystemError.last
            throw LedgerError(
                path,
                LedgerFile.isLink(path) ? "it is a symbolic link; name its target" : error.description
            )
        }
        do throws(LedgerError) {
            identity = try LedgerFile.prepare(descriptor, path)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        close(descriptor)
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Writes whole lines and returns when they are durable.
    func append(_ lines: [UInt8]) throws(OutputFailure) {
        if let failure = broken.withLock({ $0 }) { throw failure }
        let end = lseek(descriptor, 0, SEEK_END)
        do throws(SystemError) {
            try OutputDescriptor(number: descriptor).write(lines)
        } catch {
            if ftruncate(descriptor, end) != 0 { refuseFromNowOn("\(error), and a part of a line was left") }
            throw .system(error.description)
        }
        guard LedgerFile.makeDurable(descriptor) else {
            let failure = SystemError.last.description
            refuseFromNowOn("an earlier fsync failed (\(failure)); check the disk and start again")
            throw .system(failure)
        }
        // A file without a name is deleted when it is closed.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            throw .system("the ledger's file was removed; restart the program to create a new one")
        }
    }

    private func refuseFromNowOn(_ why: String) {
        broken.withLock { $0 = .system(why) }
    }

    private static func prepare(_ descriptor: Int32, _ path: String) throws(LedgerError) -> FileIdentity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw LedgerError(path, SystemError.last.description) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LedgerError(path, "it is not a regular file; 'use: print' writes to stdout")
        }
        if let fault = strangerFault(status) { throw LedgerError(path, fault) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw LedgerError(path, "another process has it open as a ledger")
        }
        try endTornLine(descriptor, path, size: status.st_size)
        try makeEntryDurable(path)
        return FileIdentity(status)
    }

    /// Why the file is unsafe: another user may own it, read it or have planted it.
    private static func strangerFault(_ status: stat) -> String? {
        if status.st_uid != geteuid() {
            return "user \(status.st_uid) owns it, and this process runs as user \(geteuid()); name another file"
        }
        if status.st_nlink != 1 {
            return "it has \(status.st_nlink) hard links; name a file that has only one"
        }
        let mode = status.st_mode & 0o777
        guard mode & 0o077 != 0 else { return nil }
        let digits = String(mode, radix: 8)
        return
            "others may read or change it (mode \(String(repeating: "0", count: 4 - digits.count))\(digits)); run chmod 600 on it"
    }

    /// A process that was killed while it wrote may have left a part of a line, of a message that was never
    /// acknowledged: it gets a newline, so that the next line is whole.
    private static func endTornLine(_ descriptor: Int32, _ path: String, size: off_t) throws(LedgerError) {
        guard size > 0 else { return }
        var last: UInt8 = 0
        guard pread(descriptor, &last, 1, size - 1) == 1 else { throw LedgerError(path, SystemError.last.description) }
        guard last != UInt8(ascii: "\n") else { return }
        do {
            try OutputDescriptor(number: descriptor).write([UInt8(ascii: "\n")])
        } catch {
            throw LedgerError(path, "\(error)")
        }
    }

    /// A new file survives a power cut only when its folder is on the disk too.
    private static func makeEntryDurable(_ path: String) throws(LedgerError) {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { throw LedgerError(path, SystemError.last.description) }
        defer { close(descriptor) }
        guard LedgerFile.makeDurable(descriptor) else { throw LedgerError(path, SystemError.last.description) }
    }

    /// Returns when what was written is on the disk: on Darwin fsync(2) leaves it in the drive's cache, so there
    /// fcntl(2)'s F_FULLFSYNC is asked for first, which not every file system knows.
    private static func makeDurable(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
        guard [ENOTSUP, EINVAL, ENOTTY].contains(errno) else { return false }
        #endif
        return fsync(descriptor) == 0
    }
}
