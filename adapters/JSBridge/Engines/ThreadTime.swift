import AdapterSupport
import Synchronization

/// Measures a thread's processor time, which other threads can read. The time is unknown on Apple platforms, where no
/// limit is enforced.
final class ThreadTime: Sendable {
    #if canImport(Darwin)
    static var ofThisThread: Duration { .zero }

    /// Starts measuring the calling thread.
    func begin() {}

    /// The thread's processor time, or `nil` if the time is unknown or the thread has ended.
    var used: Duration? { nil }
    #else
    private let clock = Mutex<clockid_t?>(nil)

    /// The calling thread's processor time.
    static var ofThisThread: Duration { time(of: CLOCK_THREAD_CPUTIME_ID) ?? .zero }

    /// Starts measuring the calling thread.
    func begin() {
        var id = clockid_t()
        guard pthread_getcpuclockid(pthread_self(), &id) == 0 else { return }
        clock.withLock { $0 = id }
    }

    /// The thread's processor time, or `nil` if the time is unknown or the thread has ended.
    var used: Duration? { clock.withLock { $0 }.flatMap(ThreadTime.time) }

    private static func time(of clock: clockid_t) -> Duration? {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    #endif
}
