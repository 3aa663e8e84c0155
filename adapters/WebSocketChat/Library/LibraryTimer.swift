import CLibwebsockets

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
