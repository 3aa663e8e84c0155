import AdapterSupport
import SignalboxCore
import Synchronization

/// Appends each action to a file as one line, and returns when the lines are durable. Only then does the source
/// acknowledge the message. All actions in a batch share one fsync.
struct FilePlugin: BatchPlugin {
    let action: ActionName
    let log: LineCommitter

    func callAsActions(_ batch: [(info: RawBody, context: ActionContext)]) async throws {
        var lines: [UInt8] = []
        for (info, context) in batch { lines += ActionRecord(body: info, context: context).jsonLine }
        try await log.commit(lines)
    }
}

/// A ``FilePlugin`` that is called once per action. Use this for actions that are ordered by key. Concurrent calls
/// still share an fsync.
struct FileLinePlugin: Plugin {
    let file: FilePlugin

    var action: ActionName { file.action }

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        try await file.callAsActions([(info, context)])
    }
}

extension LineCommitter {
    /// Creates an append log. Waiting lines are written to the file together, with one write and one fsync.
    convenience init(appendingTo file: AppendLogFile) {
        self.init(name: "signalbox.file") { (lines) throws(OutputFailure) in try file.append(lines) }
    }
}

/// Holds a program's append logs. Two paths to the same file share an append log, because a second one could not lock
/// the file. A file stays open as long as a plugin uses it.
final class AppendLogTable: Sendable {
    private struct Entry {
        weak var log: LineCommitter?
    }

    /// Whether files are opened. This is `false` if no plugin is ever called.
    let opensFiles: Bool
    private let logs = Mutex<[FileIdentity: Entry]>([:])

    /// - Parameter opensFiles: Whether to open files. Pass `false` if no plugin is ever called.
    init(opensFiles: Bool = true) {
        self.opensFiles = opensFiles
    }

    /// Returns the append log for a file. Opens the file if necessary.
    func log(at path: String) throws(AppendLogError) -> LineCommitter {
        guard opensFiles else {
            return LineCommitter(name: "signalbox.file") { (_) throws(OutputFailure) in throw .closed }
        }
        return try logs.withLock { (logs) throws(AppendLogError) in
            if let known = FileIdentity(path: path).flatMap({ logs[$0]?.log }) { return known }
            let file = try AppendLogFile(path: path)
            let log = LineCommitter(appendingTo: file)
            logs = logs.filter { $0.value.log != nil }
            logs[file.identity] = Entry(log: log)
            return log
        }
    }
}

/// An append-only file of lines. Its methods block, so they are called on the queue of a ``LineCommitter``. All plugins
/// that name the file share this queue.
///
/// After a failed write, the file is truncated to whole lines. After a failed fsync, it is not known what is on the
/// disk, so every further write is refused until the program restarts.
final class AppendLogFile: Sendable {
    /// The identity of the file.
    let identity: FileIdentity
    private let descriptor: Int32
    /// The failure that left the content of the disk unknown, or `nil` if there was none.
    private let broken = Mutex<OutputFailure?>(nil)

    /// Opens or creates the file so that only its owner has access, and locks it against other processes.
    ///
    /// - Throws: ``AppendLogError`` in any of these cases:
    ///   - The file cannot be opened.
    ///   - The file is locked by another process.
    ///   - The file is not a regular file, or does not have exactly one hard link.
    ///   - A different user owns the file or has access to it.
    init(path: String) throws(AppendLogError) {
        // If the path names a FIFO by mistake, opening it must not wait for the other end. O_NONBLOCK has no effect on
        // regular files.
        let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW
        descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else {
            let error = SystemError.last
            throw AppendLogError(
                path,
                AppendLogFile.isLink(path) ? "it is a symbolic link; name its target" : error.description
            )
        }
        do throws(AppendLogError) {
            identity = try AppendLogFile.prepare(descriptor, path)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        // A process that is just being started may share the descriptor and would then keep the lock (flock(2)).
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Writes lines and returns when all of them are on the disk. Each line must end with a newline.
    ///
    /// - Throws: ``OutputFailure``. A failed write leaves no line in the file. If an fsync fails, or the truncation
    ///   after a failed write does, the lines may still be in the file, on the disk or not. In that case, every later
    ///   call throws too.
    func append(_ lines: [UInt8]) throws(OutputFailure) {
        if let failure = broken.withLock({ $0 }) { throw failure }
        let end = lseek(descriptor, 0, SEEK_END)
        do throws(SystemError) {
            try OutputDescriptor(number: descriptor).write(lines)
        } catch {
            if ftruncate(descriptor, end) != 0 { failPermanently("\(error), and part of a line remains") }
            throw .system(error.description)
        }
        guard AppendLogFile.sync(descriptor) else {
            let failure = SystemError.last.description
            failPermanently("an earlier fsync failed (\(failure)); check the disk and restart the program")
            throw .system(failure)
        }
        // A file without a hard link is deleted when it is closed, so its lines would be lost.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            throw .system("the file of the append log was removed; restart the program to create a new one")
        }
    }

    private func failPermanently(_ reason: String) {
        broken.withLock { $0 = .system(reason) }
    }

    private static func prepare(_ descriptor: Int32, _ path: String) throws(AppendLogError) -> FileIdentity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw AppendLogError(path, SystemError.last.description) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw AppendLogError(path, "it is not a regular file; 'use: print' writes to stdout")
        }
        if let reason = unsafeFileReason(status) { throw AppendLogError(path, reason) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw AppendLogError(path, "another process has it open as an append log")
        }
        try terminateTornLine(descriptor, path, size: status.st_size)
        try syncFolder(path)
        return FileIdentity(status)
    }

    /// Returns the reason why the file is unsafe, or `nil` if it is safe. It is unsafe if a different user owns it, can
    /// read or change it, or may have planted it.
    private static func unsafeFileReason(_ status: stat) -> String? {
        if status.st_uid != geteuid() {
            return "user \(status.st_uid) owns it, and this process runs as user \(geteuid()); name another file"
        }
        if status.st_nlink != 1 {
            return "it has \(status.st_nlink) hard links; name a file that has only one"
        }
        let mode = status.st_mode & 0o777
        guard mode & 0o077 != 0 else { return nil }
        let digits = String(0o10000 | mode, radix: 8).dropFirst()
        return "others may read or change it (mode \(digits)); run chmod 600 on it"
    }

    /// Adds a newline after a partial last line, so that the next line is whole. A process that was killed during a
    /// write may have left a partial line, but its message was never acknowledged.
    private static func terminateTornLine(_ descriptor: Int32, _ path: String, size: off_t) throws(AppendLogError) {
        guard size > 0 else { return }
        var last: UInt8 = 0
        guard pread(descriptor, &last, 1, size - 1) == 1 else {
            throw AppendLogError(path, SystemError.last.description)
        }
        guard last != UInt8(ascii: "\n") else { return }
        do {
            try OutputDescriptor(number: descriptor).write([UInt8(ascii: "\n")])
        } catch {
            throw AppendLogError(path, "\(error)")
        }
    }

    /// Syncs the folder that contains the file. A new file survives a power failure only if its directory entry is on
    /// the disk.
    private static func syncFolder(_ path: String) throws(AppendLogError) {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { throw AppendLogError(path, SystemError.last.description) }
        defer { close(descriptor) }
        guard AppendLogFile.sync(descriptor) else { throw AppendLogError(path, SystemError.last.description) }
    }

    /// Flushes the file to the disk. On Darwin, fsync(2) leaves data in the drive's cache, so F_FULLFSYNC of fcntl(2)
    /// is tried first. Some file systems do not support it.
    private static func sync(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
        guard [ENOTSUP, EINVAL, ENOTTY].contains(errno) else { return false }
        #endif
        return fsync(descriptor) == 0
    }
}

/// Identifies a file by its device and inode number.
struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let number: UInt64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// Creates the identity of the file at the path, without following a symbolic link. Returns `nil` if the file does
    /// not exist or is inaccessible.
    init?(path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}

/// The reason why a file cannot be used as an append log.
struct AppendLogError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file and the reason.
    let description: String

    init(_ path: String, _ what: String) {
        description = "cannot append to \(path): \(what)"
    }
}
