import AdapterSupport
import Signalbox
import SignalboxCore
import Synchronization

/// Tells the service manager that started the program how the program is doing (sd_notify(3)): that it is ready, that it
/// reloads or ends, and at intervals that it is alive.
///
/// The messages are datagrams to the socket that `NOTIFY_SOCKET` names. If the service manager does not take them, they are
/// lost, as sd_notify's are. Safe to use from any thread.
final class ServiceManager: Sendable {
    /// How often the status is sent, if it has changed.
    static let interval = Duration.seconds(5)
    /// The maximum length of the status, in bytes.
    static let statusLimit = 512

    /// How long the program may be silent before the service manager ends it, or `nil` without a limit.
    let watchdog: Duration?
    /// The path of the service manager's socket, or its name after an `@` (unix(7), abstract sockets).
    private let address: String
    private let socket: OwnedDescriptor
    private let status = Mutex("")

    /// Reads from the environment who wants to know.
    ///
    /// - Returns: `nil` if nobody does.
    static func announced() -> ServiceManager? {
        guard let address = variable("NOTIFY_SOCKET"), let first = address.first, first == "/" || first == "@",
            address.utf8.count <= UnixAddress.pathLimit, let socket = datagramSocket()
        else { return nil }
        var watchdog: Duration?
        let isWatched = variable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        if isWatched, let limit = variable("WATCHDOG_USEC").flatMap({ Int64($0) }), limit > 0 {
            watchdog = .microseconds(limit)
        }
        return ServiceManager(address, socket, watchdog: watchdog)
    }

    private init(_ address: String, _ socket: OwnedDescriptor, watchdog: Duration?) {
        (self.address, self.socket, self.watchdog) = (address, socket, watchdog)
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    private static func datagramSocket() -> OwnedDescriptor? {
        #if canImport(Glibc)
        let type = Int32(SOCK_DGRAM.rawValue)
        #else
        let type = SOCK_DGRAM
        #endif
        let number = AdapterSupport.socket(AF_UNIX, type, 0)
        guard number >= 0 else { return nil }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
        return OwnedDescriptor(number)
    }

    // MARK: - Messages

    /// The program has begun to reload its configuration. ``ready()`` follows in any case.
    func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        send("RELOADING=1\nMONOTONIC_USEC=\(Int(now.tv_sec) * 1_000_000 + Int(now.tv_nsec) / 1_000)")
    }

    func ready() { send("READY=1") }

    func stopping() { send("STOPPING=1\nSTATUS=draining") }

    private func send(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            _ = UnixAddress.with(address) { sendto(socket.number, bytes.baseAddress, bytes.count, 0, $0, $1) }
        }
    }

    // MARK: - Watching

    /// Says that the program is ready, and from then on that it is alive, until the task is cancelled.
    ///
    /// This runs on the threads that run plugins. If plugins block all of them, the service manager hears nothing, and
    /// restarts the program.
    ///
    /// - Parameters:
    ///   - supervisor: The supervisor, whose servers listen already. Its connections to others may take any time.
    ///   - health: What watches the supervisor's sources and timer.
    func serve(_ supervisor: Supervisor, _ health: HealthWatch) async {
        ready()
        // Half of the limit, as sd_watchdog_enabled(3) recommends.
        let interval = min(watchdog.map { $0 / 2 } ?? ServiceManager.interval, ServiceManager.interval)
        repeat {
            if health.failure(of: supervisor) == nil, watchdog != nil { send("WATCHDOG=1") }
            report(health.problems(of: supervisor))
        } while (try? await Task.sleep(for: interval)) != nil
    }

    private func report(_ problems: [HealthProblem]) {
        let parts = problems.map { problem in "\(problem.source.map { "\($0): " } ?? "")\(problem.text)" }
        let whole = parts.isEmpty ? "ready" : "not ready: " + parts.joined(separator: "; ")
        let text = LineText.escaped(whole, limit: ServiceManager.statusLimit)
        let isNew = status.withLock { last in
            defer { last = text }
            return last != text
        }
        if isNew { send("STATUS=\(text)") }
    }
}
