import Foundation
import SignalboxTesting
import Synchronization

/// The browser's process, the leader of a group of its own that all its helpers belong to, and the ends of two pipes to it.
final class ChromiumProcess: Sendable {
    private enum Life: Equatable { case running, ended }

    let id: pid_t
    /// What is written here the browser reads.
    let writeEnd: Int32
    /// What the browser writes is read here.
    let readEnd: Int32
    private let profile: URL
    private let life = Watched(Life.running)
    private let reaping = Mutex(false)

    /// How long the browser may take to close itself.
    private static let closingSeconds = 10.0

    /// Starts it.
    init(_ path: String, _ arguments: [String]) throws {
        profile = FileManager.default.temporaryDirectory.appendingPathComponent("chromium-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: profile, withIntermediateDirectories: true)
        let toBrowser = try ChromiumProcess.pipe()
        let fromBrowser = try ChromiumProcess.pipe()
        defer {
            close(toBrowser.read)
            close(fromBrowser.write)
        }
        let all = [path] + arguments + ["--user-data-dir=\(profile.path)", "about:blank"]
        do {
            id = try ChromiumProcess.spawn(all, reading: toBrowser.read, writing: fromBrowser.write)
        } catch {
            close(toBrowser.write)
            close(fromBrowser.read)
            throw error
        }
        writeEnd = toBrowser.write
        readEnd = fromBrowser.read
        Thread.detachNewThread { [self] in reap() }
    }

    // Above the two numbers that the browser gets its ends as, and none of a program that is started meanwhile.
    private static func pipe() throws -> (read: Int32, write: Int32) {
        let moved = try ProcessStart.alone {
            var ends: [Int32] = [-1, -1]
            guard Foundation.pipe(&ends) == 0 else { throw BrokerKitError("no pipe is left (errno \(errno))") }
            defer { for end in ends { close(end) } }
            return ends.map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
        }
        guard moved.allSatisfy({ $0 >= 0 }) else {
            for end in moved where end >= 0 { close(end) }
            throw BrokerKitError("no descriptor is left (errno \(errno))")
        }
        return (moved[0], moved[1])
    }

    private static func spawn(_ arguments: [String], reading: Int32, writing: Int32) throws -> pid_t {
        #if os(Linux)
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #else
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // https://chromium.googlesource.com/chromium/src/+/HEAD/content/public/common/content_switches.cc: the numbers are fixed.
        posix_spawn_file_actions_adddup2(&actions, reading, 3)
        posix_spawn_file_actions_adddup2(&actions, writing, 4)
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGMASK))
        var texts: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for text in texts { free(text) } }
        var id: pid_t = 0
        let status = ProcessStart.alone { posix_spawn(&id, arguments[0], &actions, &attributes, &texts, environ) }
        guard status == 0 else { throw BrokerKitError("\(arguments[0]) cannot be started (errno \(status))") }
        return id
    }

    // The group is ended before its leader's number can be anybody else's.
    private func reap() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        reaping.withLock { isReaped in
            kill(-id, SIGKILL)
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0 && errno == EINTR {}
            isReaped = true
        }
        life.change { $0 = .ended }
    }

    /// Ends the whole group at once.
    func end() {
        reaping.withLock { isReaped in
            if !isReaped { kill(-id, SIGKILL) }
        }
    }

    /// Ends the whole group unless it has ended by itself by then.
    func endLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + ChromiumProcess.closingSeconds) { [weak self] in
            self?.end()
        }
    }

    /// Waits until the process has ended, after ``endLater()``, and removes what it left behind.
    func ended() async {
        // Also when the test was cancelled: the wait is bounded.
        await life.untilUncancelled { $0 == .ended }
        try? FileManager.default.removeItem(at: profile)
    }
}
