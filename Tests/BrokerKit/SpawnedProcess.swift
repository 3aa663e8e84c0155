public import Foundation
import SignalboxTesting
import Synchronization

/// A program that a test has started, ended by its own process id and by nothing else.
///
/// Foundation's `Process` is not used: it was seen to crash, once in some ten thousand starts.
public final class SpawnedProcess: Sendable {
    /// The descriptors that become a program's standard streams. A missing one becomes `/dev/null`.
    public struct Streams: Sendable {
        let descriptors: [Int32?]

        /// The caller closes its descriptors after the start.
        public init(input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil) {
            descriptors = [input, output, errors]
        }
    }

    /// The process id.
    public let id: pid_t
    private let end = Watched<Int32?>(nil)
    /// Whether the id may be somebody else's.
    private let reaping = Mutex(false)

    /// Starts a program. It gets no other descriptors, and blocks no signal.
    ///
    /// - Parameters:
    ///   - program: a path.
    ///   - environment: added to this process's environment.
    ///   - folder: its working directory, or `nil` for this process's.
    /// - Throws: ``BrokerKitError`` when it cannot be started.
    public init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: URL? = nil,
        _ streams: Streams = Streams()
    ) throws {
        var command = [program] + arguments
        #if os(Linux)
        // Swift does not import posix_spawn_file_actions_addchdir_np from Glibc.
        if let folder { command = ["/usr/bin/env", "-C", folder.path] + command }
        #endif
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        id = try ProcessStart.alone { try SpawnedProcess.spawn(command, all, folder, streams) }
        Thread.detachNewThread { [self] in reap() }
    }

    /// The exit status, or the negative number of the signal that ended it; `nil` while it runs.
    public var status: Int32? { end.value }

    /// Returns when it has ended; also when the task is cancelled, unless `always`.
    public func untilEnd(always: Bool = false, file: StaticString = #fileID, line: UInt = #line) async {
        if always {
            await end.untilUncancelled(file: file, line: line) { $0 != nil }
        } else {
            await end.until(file: file, line: line) { $0 != nil }
        }
    }

    /// Sends a signal, unless it has ended.
    public func signal(_ number: Int32) {
        reaping.withLock { isReaped in
            if !isReaped { kill(id, number) }
        }
    }

    // Its number is nobody else's before it is waited for.
    private func reap() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        var status: Int32 = 0
        reaping.withLock { isReaped in
            while waitpid(id, &status, 0) < 0 && errno == EINTR {}
            isReaped = true
        }
        let signal = status & 0x7F
        end.change { $0 = signal == 0 ? status >> 8 & 0xFF : -signal }
    }

    private static func spawn(
        _ command: [String],
        _ environment: [String: String],
        _ folder: URL?,
        _ streams: Streams
    ) throws -> pid_t {
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
        for (number, descriptor) in streams.descriptors.enumerated() {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(
                    &actions,
                    Int32(number),
                    "/dev/null",
                    number == 0 ? O_RDONLY : O_WRONLY,
                    0
                )
            }
        }
        // Libraries open some without O_CLOEXEC. Closing what is closed is no error.
        for descriptor in openDescriptors { posix_spawn_file_actions_addclose(&actions, descriptor) }
        #if !os(Linux)
        if let folder { posix_spawn_file_actions_addchdir_np(&actions, folder.path) }
        #endif
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var id: pid_t = 0
        let status = posix_spawn(&id, command[0], &actions, &attributes, &arguments, &variables)
        guard status == 0 else { throw BrokerKitError("\(command[0]) cannot be started (errno \(status))") }
        return id
    }

    private static var openDescriptors: [Int32] {
        #if os(Linux)
        let folder = "/proc/self/fd"
        #else
        let folder = "/dev/fd"
        #endif
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { Int32($0) }.filter {
            $0 > 2
        }
    }
}
