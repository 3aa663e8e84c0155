import CLibwebsockets

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
