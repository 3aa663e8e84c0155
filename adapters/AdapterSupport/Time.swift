package import SignalboxCore

extension WallTime {
    /// Returns the current wall-clock time of the system.
    package static func now() -> WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
    }
}

extension Duration {
    /// The duration as a timeout for `poll`, in milliseconds, rounded up. The timeout is 0 for a negative duration and
    /// never more than one day.
    package var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds < 86_400 else { return 86_400_000 }
        guard self > .zero else { return 0 }
        return Int32(seconds) * 1_000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

extension Duration {
    /// Returns whether the duration is a whole number of seconds within the given range.
    package func isWholeSeconds(in range: ClosedRange<Int64>) -> Bool {
        components.attoseconds == 0 && range.contains(components.seconds)
    }

    /// The duration in seconds with one decimal, for log lines.
    package var secondsDescription: String {
        let tenths = components.seconds * 10 + components.attoseconds / 100_000_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }
}

/// Chooses random delays between connection attempts.
///
/// Each delay is between zero and a ceiling that doubles with each attempt. After a configuration error, the delay is
/// chosen from a separate range, usually of longer delays.
package struct ReconnectBackoff {
    private let first: Duration
    private let cap: Duration
    private let slow: ClosedRange<Duration>
    private var ceiling: Duration

    /// - Parameters:
    ///   - first: The first ceiling.
    ///   - cap: The maximum ceiling.
    ///   - slow: The range of delays after a configuration error.
    package init(first: Duration, cap: Duration, slow: ClosedRange<Duration>) {
        self.first = first
        self.cap = cap
        self.slow = slow
        ceiling = first
    }

    /// Resets the ceiling. Call this method after a connection that proved useful, not after every connection that was
    /// accepted.
    package mutating func succeeded() {
        ceiling = first
    }

    /// Returns the delay before the next attempt.
    ///
    /// - Parameters:
    ///   - isConfigurationError: Whether the failure can only be fixed by changing the configuration.
    ///   - usesEqualJitter: Whether the delay is at least half of the ceiling. Pass `true` if retrying is pointless
    ///     until the cause of the failure has gone away.
    ///   - jitter: A random number from 0 to 1 that selects the delay within its range.
    package mutating func next(isConfigurationError: Bool, usesEqualJitter: Bool = false, jitter: Double) -> Duration {
        if isConfigurationError {
            return slow.lowerBound + (slow.upperBound - slow.lowerBound) * jitter
        }
        defer { ceiling = min(ceiling * 2, cap) }
        return usesEqualJitter ? ceiling / 2 + ceiling / 2 * jitter : ceiling * jitter
    }
}
