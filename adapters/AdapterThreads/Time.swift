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

extension Duration {
    /// The wait as `poll` takes it: rounded up to milliseconds, 0 when negative, at most one day.
    package var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds < 86_400 else { return 86_400_000 }
        guard self > .zero else { return 0 }
        return Int32(seconds) * 1_000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

extension Duration {
    /// In seconds with one digit behind the point, for people.
    package var shownInSeconds: String {
        let tenths = components.seconds * 10 + components.attoseconds / 100_000_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }
}

/// Draws the waits between connections: each at random between nothing and a ceiling that doubles, or, after a fault that
/// only a changed configuration can cure, from a range of its own.
package struct ReconnectBackoff {
    private let first: Duration
    private let cap: Duration
    private let slow: ClosedRange<Duration>
    private var ceiling: Duration

    /// - Parameters:
    ///   - first: the first ceiling.
    ///   - cap: the largest ceiling.
    ///   - slow: the waits after a fault of the configuration.
    package init(first: Duration, cap: Duration, slow: ClosedRange<Duration>) {
        self.first = first
        self.cap = cap
        self.slow = slow
        ceiling = first
    }

    /// A connection was of use: the next wait is a first one.
    package mutating func succeeded() {
        ceiling = first
    }

    /// The wait after a connection ended.
    ///
    /// - Parameters:
    ///   - isHeld: whether a retry is useless until a cause is removed; the wait is then at least half of its ceiling.
    ///   - share: drawn at random from 0 to 1: where in its range the wait lies.
    package mutating func next(isConfigurationFault: Bool, isHeld: Bool = false, share: Double) -> Duration {
        if isConfigurationFault {
            return slow.lowerBound + (slow.upperBound - slow.lowerBound) * share
        }
        defer { ceiling = min(ceiling * 2, cap) }
        return isHeld ? ceiling / 2 + ceiling / 2 * share : ceiling * share
    }
}
