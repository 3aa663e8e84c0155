#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A reading of the system's monotonic clock, for what is measured once per message.
///
/// A `ContinuousClock.Instant` is as exact, but every copy, comparison and subtraction is a call into the library that defines
/// it, and each reading has to become 128 bits.
package struct MonotonicTime: Comparable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    package static func < (first: Self, second: Self) -> Bool { first.nanoseconds < second.nanoseconds }
}
