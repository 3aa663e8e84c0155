/// How far a broadcast came.
public struct BroadcastReport: Sendable, Hashable {
    /// How many connections it was handed over for.
    public internal(set) var sent = 0
    /// How many did not take it: they went meanwhile, or read too slowly and were closed with 1013; all of them when the
    /// body is not UTF-8, or too large for any.
    public internal(set) var refused = 0
}
