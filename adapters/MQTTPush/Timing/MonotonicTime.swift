import AdapterSupport

/// A reading of the system's monotonic clock, for what is measured once per message.
///
/// A `ContinuousClock.Instant` is as exact, but every copy and comparison is a call into the library that defines it. In
/// the ring, that costs more than all the rest.
struct MonotonicTime: Comparable {
    let nanoseconds: Int64

    static func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    static func < (first: MonotonicTime, second: MonotonicTime) -> Bool { first.nanoseconds < second.nanoseconds }
}
