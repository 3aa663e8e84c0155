#if WebSocket
import AdapterSupport
import CLibwebsockets
import Synchronization

/// Creates and destroys contexts one at a time, because both operations change process-wide state without a lock.
enum ContextFactory {
    private static let hasSetUpTLS = Mutex(false)
    // By default, the library logs to standard error. The level is process-wide, so it is set before the first context
    // is created.
    private static let silencesLibrary: Void = lws_set_log_level(0, nil)

    /// Creates a context. As a side effect, the library makes the process ignore SIGPIPE.
    static func make(_ info: inout lws_context_creation_info) -> OpaquePointer? {
        _ = silencesLibrary
        let address = hasSetUpTLS.withLock { hasSetUpTLS -> UInt in
            // Set this option only once per process. Each time it is set, libwebsockets 4.1.6 registers a new ex-data
            // index with OpenSSL. Handshakes in other contexts would then look up their connection under the wrong
            // index and fail.
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

/// A libev loop for a single context. The loop scales to many connections.
///
/// Because the library does not own the loop, the library does not catch the process's SIGINT. Only one thread uses the
/// loop.
final class EventLoop {
    // libwebsockets 4.1.6 starts its only libev timer without stopping it first. libev ignores that while the timer is
    // running, so a timeout that is due before the pending one would be late. For this reason, timers are also checked
    // at this interval.
    private static let tickSeconds = 0.5
    let loop: OpaquePointer
    private let tick: UnsafeMutablePointer<clws_tick>

    /// Creates a loop, or returns `nil` if the system has no free descriptor.
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

    /// Makes the context check its timers regularly.
    func start(_ context: OpaquePointer) {
        clws_tick_start(loop, tick, context, EventLoop.tickSeconds)
    }

    /// Stops the checks. The owner calls this before it destroys the context.
    func stop() {
        clws_tick_stop(loop, tick)
    }

    /// Waits for events and processes them.
    func runOnce() {
        ev_run(loop, Int32(EVRUN_ONCE))
    }

    /// Processes any pending events without waiting.
    func runPending() {
        ev_run(loop, Int32(EVRUN_NOWAIT))
    }
}

/// A timer on the context's thread, which fires up to one tick of the loop late.
///
/// Stop the timer before you destroy the context.
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

    /// Starts the timer, or restarts it if it is already running.
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

/// Memory that libwebsockets points to, which must outlive the context. Only one thread uses it.
final class LibraryTables {
    /// The name of the table's first entry, which clients are bound to and servers use if no subprotocol is requested.
    /// The name is not a token, so no peer can request it.
    static let ownProtocol = "no subprotocol"
    let protocols: UnsafeMutablePointer<lws_protocols>
    let policy: UnsafeMutablePointer<lws_retry_bo_t>
    /// The extensions. Compression is the only one.
    let extensions: UnsafeMutablePointer<lws_extension>
    /// Disables proxies by setting the port to 0. Otherwise, the library would use the proxy named in the environment.
    private(set) lazy var noProxy = keep("none:0")
    private var texts: [UnsafeMutablePointer<CChar>] = []

    init(
        receiveBytes: Int,
        callback:
            @convention(c) (
                OpaquePointer?, lws_callback_reasons, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int
            ) -> Int32,
        subprotocols: [String],
        limits: TransportLimits
    ) {
        // The last entry stays zero to mark the end of the table.
        protocols = .allocate(capacity: subprotocols.count + 2)
        protocols.initialize(repeating: lws_protocols(), count: subprotocols.count + 2)
        extensions = .allocate(capacity: 2)
        extensions.initialize(repeating: lws_extension(), count: 2)
        clws_compression(extensions, libraryExtensionCallback)
        policy = .allocate(capacity: 1)
        policy.initialize(to: lws_retry_bo_t())
        // If pings are disabled, both values stay 0.
        if limits.pingAfter > 0 {
            let ping = min(limits.pingAfter, .max - 1)
            policy.pointee.secs_since_valid_ping = ping
            policy.pointee.secs_since_valid_hangup = max(limits.cutAfter, ping + 1)
        }
        extensions.pointee.client_offer = keep(DeflateParameters.clientOffers)
        for (index, name) in ([LibraryTables.ownProtocol] + subprotocols).enumerated() {
            clws_protocol(protocols + index, keep(name), callback, receiveBytes)
        }
    }

    deinit {
        for text in texts { free(text) }
        protocols.deallocate()
        extensions.deallocate()
        policy.deallocate()
    }

    /// Returns a copy of the text that lives as long as the tables.
    func keep(_ text: String?) -> UnsafePointer<CChar>? {
        guard let text, let copy = strdup(text) else { return nil }
        texts.append(copy)
        return UnsafePointer(copy)
    }
}
#endif
