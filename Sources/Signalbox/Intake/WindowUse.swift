/// How much of one source is inside a supervisor: taken and not yet settled.
public struct WindowUse: Sendable, Hashable {
    /// The arrivals.
    public let arrivals: Int
    /// The bytes of their originals.
    public let bytes: Int
}
