/// How much of one source may be inside the supervisor at once: taken and not yet settled.
///
/// When the window is full `Intake.submit(_:to:)` takes less than it is offered and the adapter stops reading: nothing
/// is dropped.
public struct WindowLimits: Sendable, Hashable {
    /// The most arrivals, 1 to 1,000,000; 1,000 by default.
    public var arrivals: Int { didSet { check() } }
    /// The most bytes of their originals, 1 to 2^40 - 1; 16 MiB by default. While a quarter of it is free, one arrival may
    /// reach over it.
    public var bytes: Int { didSet { check() } }

    /// - Precondition: both are in their ranges.
    public init(arrivals: Int = 1_000, bytes: Int = 16 * 1024 * 1024) {
        self.arrivals = arrivals
        self.bytes = bytes
        check()
    }

    private func check() {
        precondition((1...1_000_000).contains(arrivals), "a window holds 1 to 1,000,000 arrivals")
        precondition((1..<(1 << 40)).contains(bytes), "a window holds 1 to 2^40 - 1 bytes")
    }
}
