#if Store
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Makes sure that one process at a time runs with a store. The system releases the lock when the process ends, however it ends.
///
/// The lock is the file beside the store whose name ends in `.lock`. It contains the process id of its holder.
final class StoreLock: Sendable {
    private let descriptor: Mutex<Int32?>

    /// - Throws: ``StoreError`` if another process holds the lock, or the file cannot be created.
    init(of path: String) throws(StoreError) {
        let file = StoreLock.resolved(path) + ".lock"
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(.unavailable, "\(file): \(StoreLock.reason(errno)); check the folder and its permissions")
        }
        guard StoreLock.lock(descriptor) else {
            let holder = StoreLock.holder(descriptor)
            close(descriptor)
            let who = holder.map { "process \($0)" } ?? "another process"
            throw StoreError(.inUse, "\(path): \(who) uses this store; stop it, or name another file")
        }
        self.descriptor = Mutex(descriptor)
        let text = Array("\(getpid())\n".utf8)
        // The number is for the message that another process shows. The lock holds without it.
        if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.count, 0) }
    }

    deinit { release() }

    /// Lets other processes use the store.
    func release() {
        let held = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        if let held { close(held) }
    }

    /// Locks the file. Another process that looks for the holder has the lock for a moment.
    private static func lock(_ descriptor: Int32) -> Bool {
        for _ in 0..<20 {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            usleep(10_000)
        }
        return false
    }

    /// Returns the path without symbolic links, so that two names of one file share a lock.
    static func resolved(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    /// Returns the process that uses a store, or `nil` if none does.
    static func holder(of path: String) -> Int32? {
        let descriptor = open(resolved(path) + ".lock", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else { return nil }
        return holder(descriptor) ?? 0
    }

    private static func holder(_ descriptor: Int32) -> Int32? {
        var text = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &text, text.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: text[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
#endif
