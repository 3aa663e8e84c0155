import Foundation
import SignalboxCore
import Synchronization

/// Appends each action as one line to a file, and returns when the lines are durable: not before are the messages
/// acknowledged. The actions of a batch go to the disk with one fsync.
struct FilePlugin: BatchPlugin {
    let action: ActionName
    let ledger: Ledger

    func callAsActions(_ batch: [(info: RawBody, context: ActionContext)]) async throws {
        var lines: [UInt8] = []
        for (info, context) in batch { lines += ActionRecord(body: info, context: context).jsonLine }
        try await ledger.append(lines)
    }
}

/// A ``FilePlugin`` that is called for each action by itself, where actions are ordered by a key. Calls that wait at the
/// same time still share an fsync.
struct FileLinePlugin: Plugin {
    let file: FilePlugin

    var action: ActionName { file.action }

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        try await file.callAsActions([(info, context)])
    }
}

/// A file of lines that is only ever appended to, shared by the plugins that name the same path.
///
/// Lines that wait at the same time go to the disk with one write and one fsync. When a write fails what it left is cut
/// off again, so the file holds whole lines. When an fsync fails nobody can say what is on the disk, so nothing more is
/// written until the program is started again.
final class Ledger: Sendable {
    /// Which file it is.
    let identity: FileIdentity
    private let committer: LineCommitter

    /// Opens or creates the file, readable and writable for its owner alone, and locks it against other processes.
    ///
    /// - Throws: ``LedgerError`` when it cannot be opened, is locked by another process, or is not a regular file with a
    ///   single name that only this user can read and write.
    init(path: String) throws(LedgerError) {
        let file = try LedgerFile(path: path)
        identity = file.identity
        committer = LineCommitter(name: "signalbox.file") { (bytes) throws(OutputFailure) in
            try file.append(bytes)
        }
    }

    /// A ledger of no file, to which nothing can be appended: for plugins that nobody calls.
    init() {
        identity = FileIdentity(stat())
        committer = LineCommitter(name: "signalbox.file") { (_) throws(OutputFailure) in throw .closed }
    }

    /// Returns when the lines, each of which ends in a newline, are all on the disk.
    ///
    /// - Throws: ``OutputFailure``. After a write that failed none of the lines is in the file; after an fsync that failed
    ///   they may be in it, on the disk or not, and every later call throws too.
    func append(_ lines: [UInt8]) async throws(OutputFailure) {
        try await committer.commit(lines)
    }
}

/// One ledger for each file, however the configuration writes its path: a second one could not lock it. A file is open as
/// long as a plugin has it.
final class LedgerTable: Sendable {
    private struct Entry {
        weak var ledger: Ledger?
    }

    private let opensFiles: Bool
    private let ledgers = Mutex<[FileIdentity: Entry]>([:])

    /// - Parameter opensFiles: whether lines are to be appended; where no plugin is ever called no file is touched.
    init(opensFiles: Bool = true) {
        self.opensFiles = opensFiles
    }

    /// The ledger of the file, opened when it is not open yet.
    func ledger(at path: String) throws(LedgerError) -> Ledger {
        guard opensFiles else { return Ledger() }
        return try ledgers.withLock { (ledgers) throws(LedgerError) in
            if let known = FileIdentity(path: path).flatMap({ ledgers[$0]?.ledger }) { return known }
            let ledger = try Ledger(path: path)
            ledgers = ledgers.filter { $0.value.ledger != nil }
            ledgers[ledger.identity] = Entry(ledger: ledger)
            return ledger
        }
    }
}

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

/// What makes two paths one file: its device and its number there.
struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let number: UInt64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// The file at the path, or the symbolic link if there is one; `nil` when nothing is there or it cannot be seen.
    init?(path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}

/// Why a file cannot take lines.
struct LedgerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file and what is wrong with it.
    let description: String

    init(_ path: String, _ what: String) {
        description = "cannot append to \(path): \(what)"
    }
}
