#if JavaScriptCore
import AdapterSupport
import SignalboxCore

/// The program's side of a page's process. It owns the program's socket and watches the process's memory and exit. It
/// is confined to the page's thread.
final class ChildProcess {
    /// The environment variables that the process inherits.
    private static let variables = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ"]

    /// The program's end of the socket pair, which is in non-blocking mode.
    let socket: Int32
    private let id: pid_t
    private var status: Int32?

    /// Starts the process, with one end of a socket pair as its descriptor 3.
    ///
    /// - Throws: `noResources` if the system has no socket left or cannot start the program.
    init(_ process: ScriptProcess, source: SourceName) throws(JSBridgeError) {
        var ends: [Int32] = [-1, -1]
        #if os(Linux)
        let kind = Int32(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw JSBridgeError(.noResources, SystemResourceError.descriptor.description, source: source)
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[1]) }
        guard let id = ChildProcess.start(process, socket: ends[1]) else {
            let reason = String(cString: strerror(errno))
            close(ends[0])
            let detail = "cannot start the page's process from \(process.program): \(reason)"
            throw JSBridgeError(.noResources, detail, source: source)
        }
        self.id = id
        socket = ends[0]
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        #if canImport(Darwin)
        var isQuiet: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &isQuiet, socklen_t(MemoryLayout<Int32>.size))
        #endif
        ChildProcess.raiseOOMScore(id)
    }

    deinit {
        end()
        close(socket)
    }

    private static func start(_ process: ScriptProcess, socket: Int32) -> pid_t? {
        #if os(Linux)
        var actions = posix_spawn_file_actions_t()
        #else
        var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, socket, WorkerSocket.descriptor)
        // Some libraries open descriptors without O_CLOEXEC. Closing a descriptor that is already closed is not an
        // error.
        for descriptor in openDescriptors where descriptor > WorkerSocket.descriptor {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        let settings = variables.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        let command = [process.program] + process.arguments
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var environment: [UnsafeMutablePointer<CChar>?] = settings.map { strdup($0) } + [nil]
        var id: pid_t = 0
        let error = posix_spawn(&id, process.program, &actions, nil, &arguments, &environment)
        for text in arguments + environment { free(text) }
        errno = error
        return error == 0 ? id : nil
    }

    private static var openDescriptors: [Int32] {
        #if os(Linux)
        let folder = "/proc/self/fd"
        #else
        let folder = "/dev/fd"
        #endif
        return (FolderListing.names(in: folder) ?? []).compactMap { Int32($0) }
    }

    /// Makes the system kill the page's process rather than the program when memory runs out.
    private static func raiseOOMScore(_ id: pid_t) {
        #if os(Linux)
        let file = open("/proc/\(id)/oom_score_adj", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, "1000", 4)
        close(file)
        #endif
    }

    /// Writes as many bytes as the socket accepts without blocking.
    ///
    /// - Returns: The result of send(2).
    func trySend(_ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Darwin)
        // The socket itself has SO_NOSIGPIPE.
        let flags: Int32 = 0
        #else
        // Without this flag, SIGPIPE would end this process once the page's process has ended.
        let flags = Int32(MSG_NOSIGNAL)
        #endif
        return send(socket, bytes.baseAddress, bytes.count, flags)
    }

    /// The process's resident memory in bytes, or `nil` if it is unknown.
    var memory: Int? {
        #if os(Linux)
        let file = open("/proc/\(id)/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 256)
        let count = read(file, &text, text.count)
        guard count > 0 else { return nil }
        let fields = String(decoding: text[..<count], as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
        #else
        return nil
        #endif
    }

    /// Kills the process if it is still running, and reaps it.
    ///
    /// - Returns: A description of how the process ended.
    @discardableResult func end() -> String {
        if status == nil {
            kill(id, SIGKILL)
            var found: Int32 = 0
            while waitpid(id, &found, 0) < 0 && errno == EINTR {}
            status = found
        }
        let waitStatus = status ?? 0
        return waitStatus & 0x7F == 0 ? "with status \(waitStatus >> 8 & 0xFF)" : "by signal \(waitStatus & 0x7F)"
    }

    /// Waits up to a second for a process that has closed its socket to exit, and then kills it.
    func reap() -> String {
        if status == nil {
            var found: Int32 = 0
            for _ in 0..<100 {
                guard waitpid(id, &found, WNOHANG) == 0 else {
                    status = found
                    break
                }
                usleep(10_000)
            }
        }
        return end()
    }
}
#endif
