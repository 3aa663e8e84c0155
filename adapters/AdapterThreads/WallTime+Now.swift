package import SignalboxCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension WallTime {
    /// The system's calendar time.
    package static func now() -> WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
    }
}
