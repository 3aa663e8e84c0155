import CLibwebsockets
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Makes and ends contexts, one at a time: both touch state of the process without a lock.
enum ContextMaker {
    private static let hasSetUpTLS = Mutex(false)

    /// Also makes the process ignore SIGPIPE, as the library always does.
    static func make(_ info: inout lws_context_creation_info) -> OpaquePointer? {
        _ = LibraryLog.attached
        let address = hasSetUpTLS.withLock { hasSetUpTLS -> UInt in
            // Once per process: libwebsockets 4.1.6 gets itself a new place in OpenSSL's objects each time, and handshakes
            // under way in other contexts would look for their connection in the wrong one and fail.
            if !hasSetUpTLS { info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT) }
            let context = lws_create_context(&info)
            if context != nil { hasSetUpTLS = true }
            return UInt(bitPattern: context)
        }
        return OpaquePointer(bitPattern: address)
    }

    static func destroy(_ context: OpaquePointer) {
        let address = UInt(bitPattern: context)
        hasSetUpTLS.withLock { _ in lws_context_destroy(OpaquePointer(bitPattern: address)) }
    }
}

/// A loop of libev for one context: it finds what is ready among many connections at once, and as it is ours, the library
/// does not catch the process's SIGINT. Belongs to one thread.
final class EventLoop {
    // libwebsockets 4.1.6 starts its one libev timer without stopping it first, which libev ignores while it runs: a
    // timeout that is due before the one that was set first would wait for that one.
    private static let tickSeconds = 0.5
    let loop: OpaquePointer
    private let tick: UnsafeMutablePointer<clws_tick>

    /// `nil` when the system gives no descriptor.
    init?() {
        guard let loop = ev_loop_new(UInt32(EVFLAG_NOSIGMASK)) else { return nil }
        self.loop = loop
        tick = .allocate(capacity: 1)
        tick.initialize(to: clws_tick())
    }

    deinit {
        ev_loop_destroy(loop)
        tick.deallocate()
    }

    /// Makes the context look at its timers regularly.
    func start(_ context: OpaquePointer) {
        clws_tick_start(loop, tick, context, EventLoop.tickSeconds)
    }

    /// Before the context goes.
    func stop() {
        clws_tick_stop(loop, tick)
    }

    /// Waits until something is ready, and handles it.
    func pass() {
        ev_run(loop, Int32(EVRUN_ONCE))
    }

    /// Handles what is ready, if anything is.
    func passWithoutWaiting() {
        ev_run(loop, Int32(EVRUN_NOWAIT))
    }
}

/// A timer of a context, late by up to a loop's tick. Belongs to the context's thread; stopped before the context is destroyed.
final class LibraryTimer {
    private let timer: UnsafeMutablePointer<clws_timer>
    private var work: (() -> Void)?

    init() {
        timer = .allocate(capacity: 1)
        timer.initialize(to: clws_timer())
        timer.pointee.fired = libraryTimerFired
        timer.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        timer.deallocate()
    }

    var isRunning: Bool { work != nil }

    /// Begins anew when it is running already.
    func start(_ context: OpaquePointer, seconds: Double, _ work: @escaping () -> Void) {
        self.work = work
        clws_timer_start(context, timer, lws_usec_t(seconds * 1_000_000))
    }

    func stop(_ context: OpaquePointer) {
        work = nil
        clws_timer_stop(context, timer)
    }

    func fired() {
        let due = work
        work = nil
        due?()
    }
}

/// What libwebsockets keeps pointers to for as long as a context lives. Belongs to one thread; must outlive the context.
final class LibraryTables {
    /// The name of the table's first entry, which clients are bound to and servers use where nobody asks for another. No token,
    /// so that nobody can ask for it.
    static let ownProtocol = "no subprotocol"
    let protocols: UnsafeMutablePointer<lws_protocols>
    let policy: UnsafeMutablePointer<lws_retry_bo_t>
    /// Compression, and nothing else.
    let extensions: UnsafeMutablePointer<lws_extension>
    /// Says that there is no proxy, by its port: otherwise the library takes the one that the environment names.
    private(set) lazy var noProxy = keep("none:0")
    private var texts: [UnsafeMutablePointer<CChar>] = []

    init(receiveBytes: Int, subprotocols: [String], limits: TransportLimits) {
        // The last entry stays zero: it ends the table.
        protocols = .allocate(capacity: subprotocols.count + 2)
        protocols.initialize(repeating: lws_protocols(), count: subprotocols.count + 2)
        extensions = .allocate(capacity: 2)
        extensions.initialize(repeating: lws_extension(), count: 2)
        clws_compression(extensions, libraryExtended)
        policy = .allocate(capacity: 1)
        policy.initialize(to: lws_retry_bo_t())
        // Both stay 0 where nobody is to be pinged.
        if limits.pingAfter > 0 {
            let ping = min(limits.pingAfter, .max - 1)
            policy.pointee.secs_since_valid_ping = ping
            policy.pointee.secs_since_valid_hangup = max(limits.cutAfter, ping + 1)
        }
        for (index, name) in ([LibraryTables.ownProtocol] + subprotocols).enumerated() {
            clws_protocol(protocols + index, keep(name), libraryCalled, receiveBytes)
        }
    }

    deinit {
        for text in texts { free(text) }
        protocols.deallocate()
        extensions.deallocate()
        policy.deallocate()
    }

    /// A copy that lives as long as the tables.
    func keep(_ text: String?) -> UnsafePointer<CChar>? {
        guard let text, let copy = strdup(text) else { return nil }
        texts.append(copy)
        return UnsafePointer(copy)
    }
}

/// What the library says of errors and warnings. Its log is one for the process.
enum LibraryLog {
    struct Line: Equatable, Sendable {
        let isError: Bool
        /// One line of at most ``limit`` bytes, without control characters.
        let text: String
    }

    /// A line's length in bytes.
    static let limit = 256

    private static let listener = Mutex<(@Sendable (Line) -> Void)?>(nil)

    /// Who is told, on any thread, from now on; the library writes nothing to standard error.
    static func listen(_ body: (@Sendable (Line) -> Void)?) {
        listener.withLock { $0 = body }
    }

    /// Needed before the first context is made, as the level is the process's.
    static let attached: Void = lws_set_log_level(LLL_ERR | LLL_WARN, libraryLogged)

    static func logged(level: Int32, _ line: UnsafePointer<CChar>) {
        guard let body = listener.withLock({ $0 }) else { return }
        let text = LibraryText.shown(line, limit: limit)
        // Whoever refused a request knows it.
        guard !text.contains("User code denied connection") else { return }
        body(Line(isError: level == LLL_ERR, text: text))
    }
}
