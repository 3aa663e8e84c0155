public import Foundation
import SignalboxTesting
import Synchronization

/// A program started by a test. Signals go only to its own process id.
public final class RunningProgram: Sendable {
    private let process: SpawnedProcess

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: A path, or a name to look up in `PATH` and the system's folders.
    ///   - arguments: The arguments after the program's name.
    ///   - environment: Additions to this process's environment.
    ///   - folder: The working directory, or `nil` for this process's.
    ///   - input: The file for standard input, or `nil` for `/dev/null`.
    ///   - output: The file for standard output, or `nil` to discard it.
    ///   - errors: The file for standard error, or `nil` to discard it.
    /// - Throws: ``BrokerKitError`` if the program does not exist or cannot be started; errors of Foundation.
    public init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: URL? = nil,
        input: URL? = nil,
        output: URL? = nil,
        errors: URL? = nil
    ) throws {
        let read = try input.map { try FileHandle(forReadingFrom: $0) }
        let (written, diagnostics) = (try RunningProgram.handle(for: output), try RunningProgram.handle(for: errors))
        process = try SpawnedProcess(
            RunningProgram.find(program),
            arguments,
            environment: environment,
            folder: folder,
            SpawnedProcess.Streams(
                input: read?.fileDescriptor,
                output: written?.fileDescriptor,
                errors: diagnostics?.fileDescriptor
            )
        )
        for handle in [read, written, diagnostics] { try handle?.close() }
    }

    /// Starts a program that writes its output and errors to pipes of the caller.
    ///
    /// - Parameters:
    ///   - input: The pipe to which the caller writes, or `nil` for no input.
    ///   - errors: The pipe from which the caller reads standard error, or `nil` to discard it.
    public init(_ program: String, _ arguments: [String], input: Pipe? = nil, output: Pipe, errors: Pipe?) throws {
        process = try SpawnedProcess(
            RunningProgram.find(program),
            arguments,
            SpawnedProcess.Streams(
                input: input?.fileHandleForReading.fileDescriptor,
                output: output.fileHandleForWriting.fileDescriptor,
                errors: errors?.fileHandleForWriting.fileDescriptor
            )
        )
        try input?.fileHandleForReading.close()
        for pipe in [output, errors] { try pipe?.fileHandleForWriting.close() }
    }

    /// The process id.
    public var id: Int32 { process.id }

    /// Waits for the program's end and returns its exit status, or the negated number of the signal that ended it. If
    /// the task is cancelled, as by a test's time limit, the program is killed.
    @discardableResult
    public func status(file: StaticString = #fileID, line: UInt = #line) async -> Int32 {
        await process.endStatus(file: file, line: line)
    }

    /// Whether this process has not yet observed the program's end.
    public var isRunning: Bool { process.status == nil }

    /// Sends a signal to the process, unless it has ended.
    public func signal(_ number: Int32) { process.signal(number) }

    private static func find(_ program: String) throws -> String {
        if program.contains("/") { return program }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let system = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"
        for folder in "\(path):\(system)".split(separator: ":") {
            let candidate = "\(folder)/\(program)"
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        throw BrokerKitError("\(program) not found: install mosquitto and its clients")
    }

    private static func handle(for file: URL?) throws -> FileHandle? {
        guard let file else { return nil }
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw BrokerKitError("the file \(file.path) cannot be created")
        }
        return try FileHandle(forWritingTo: file)
    }
}

/// A process started by a test. Signals go only to its own process id.
///
/// Replaces Foundation's `Process`, in which a crash was observed about once in ten thousand starts.
public final class SpawnedProcess: Sendable {
    /// The descriptors for a program's standard streams. A missing one becomes `/dev/null`.
    public struct Streams: Sendable {
        let descriptors: [Int32?]

        /// The descriptors that the program has from number 3 on.
        let passed: [Int32]

        /// Creates streams from descriptors, which the caller closes after the start.
        public init(input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil, passed: [Int32] = []) {
            descriptors = [input, output, errors]
            self.passed = passed
        }
    }

    /// The process id.
    public let id: pid_t
    private let end = Watched<Int32?>(nil)
    /// Whether the process has been reaped, after which the system may reuse its id.
    private let reaping = Mutex(false)

    /// Starts a program with no other descriptors and no blocked signals.
    ///
    /// - Parameters:
    ///   - program: The program's path.
    ///   - environment: Additions to this process's environment.
    ///   - folder: The working directory, or `nil` for this process's.
    /// - Throws: ``BrokerKitError`` if the program cannot be started.
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

    /// The exit status, or the negated number of the signal that ended the process; `nil` while it runs.
    public var status: Int32? { end.value }

    /// Waits for the end of the process and returns its ``status``. If the task is cancelled, the process is killed.
    public func endStatus(file: StaticString = #fileID, line: UInt = #line) async -> Int32 {
        await withTaskCancellationHandler {
            await end.untilUncancelled(file: file, line: line) { $0 != nil }
        } onCancel: {
            signal(SIGKILL)
        }
        return status ?? -SIGKILL
    }

    /// Sends a signal, unless the process has ended.
    public func signal(_ number: Int32) {
        reaping.withLock { isReaped in
            if !isReaped { kill(id, number) }
        }
    }

    // The system does not reuse the id before `waitpid`.
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
        // A number that is to be replaced may be that of another descriptor that is passed.
        let copies = streams.passed.map { fcntl($0, F_DUPFD_CLOEXEC, 3 + Int32(streams.passed.count)) }
        defer { for copy in copies { close(copy) } }
        for (index, copy) in copies.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, copy, 3 + Int32(index))
        }
        // Libraries open some descriptors without O_CLOEXEC. Closing a closed descriptor is not an error here.
        for descriptor in openDescriptors where descriptor >= 3 + Int32(copies.count) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
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

/// Serializes program starts, so that concurrent tests do not disturb each other.
enum ProcessStart {
    /// A program that starts between `pipe` and the close-on-exec flag would inherit the pipe and keep it open.
    private static let oneAtATime = Mutex(())
    /// A write to a program that has ended must fail instead of ending this process.
    private static let brokenPipesAreErrors: Void = { signal(SIGPIPE, SIG_IGN) }()

    /// Starts a program, or creates a pipe, while no other start is in progress. A start must unblock signals: the
    /// threads of Swift's pool block all signals, and a program inherits the mask.
    static func alone<Result>(_ start: () throws -> Result) rethrows -> Result {
        _ = brokenPipesAreErrors
        return try oneAtATime.withLock { _ in try start() }
    }
}

extension Pipe {
    /// Creates a pipe that only the program started with it inherits. Any other process that inherits an end would keep
    /// the other end from receiving end-of-file or a write error. Tests that run in separate processes inherit every
    /// descriptor that is not closed for them.
    public static func unshared() -> Pipe {
        ProcessStart.alone {
            let pipe = Pipe()
            for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            return pipe
        }
    }
}

/// The programs of this package, in the build folder of the running tests.
public enum BuiltProgram {
    /// The program that tests run instead of the command that was built with them, such as one for installation: the value of
    /// `SIGNALBOX_PROGRAM`.
    public static let replacement = ProcessInfo.processInfo.environment["SIGNALBOX_PROGRAM"]

    /// Returns the path of an executable target.
    public static func path(_ name: String) -> String {
        if name == "signalbox", let replacement { return replacement }
        return Bundle.main.bundleURL.deletingLastPathComponentIfBundle.appendingPathComponent(name).path
    }
}

extension URL {
    // On Linux the main bundle is the programs' folder; on Apple platforms tests may run from a bundle inside it.
    fileprivate var deletingLastPathComponentIfBundle: URL {
        pathExtension == "xctest" ? deletingLastPathComponent() : self
    }
}
