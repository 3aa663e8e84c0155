/// How much of one source is inside a supervisor: taken and not yet settled.
public struct WindowUse: Sendable, Hashable {
    /// The arrivals.
    public let arrivals: Int
    /// The bytes of their originals.
    public let bytes: Int

    /// A source that was removed may still have arrivals inside while one of its name is there again.
    static func + (one: Self, other: Self) -> Self {
        Self(arrivals: one.arrivals + other.arrivals, bytes: one.bytes + other.bytes)
    }
}
