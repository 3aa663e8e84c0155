/// A point in calendar time, for records and never for waiting: seconds and nanoseconds since 1970-01-01T00:00:00Z.
///
/// The adapter that received something reads the clock; the core reads none.
public struct WallTime: Sendable, Hashable, Comparable {
    /// Whole seconds since 1970, negative before it.
    public let seconds: Int64
    /// The rest, 0 to 999,999,999.
    public let nanoseconds: UInt32

    /// - Precondition: `nanoseconds` is below 1,000,000,000.
    public init(seconds: Int64, nanoseconds: UInt32 = 0) {
        precondition(nanoseconds < 1_000_000_000, "nanoseconds of a WallTime are below 1,000,000,000")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Earlier is less.
    public static func < (left: WallTime, right: WallTime) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}
