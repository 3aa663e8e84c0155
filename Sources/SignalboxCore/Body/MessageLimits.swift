/// The bounds of one message. What exceeds them is rejected as `malformed`, with its original bytes in the dead letter.
public struct MessageLimits: Sendable, Hashable {
    /// The most bytes a message may have, 1 to 2^30; 65,536 by default.
    public var bytes: Int
    /// How many arrays and objects may be open at once, 1 to 512; 64 by default.
    public var depth: Int

    /// - Precondition: both are in their ranges.
    public init(bytes: Int = 65_536, depth: Int = 64) {
        precondition((1...1 << 30).contains(bytes), "a message limit is 1 to 2^30 bytes")
        precondition((1...512).contains(depth), "a depth limit is 1 to 512")
        self.bytes = bytes
        self.depth = depth
    }
}
