/// A generator that returns the same random numbers in every run: SplitMix64 (Steele, Lea, Flood, 2014).
///
/// Tests and recorded simulations are named by their seeds, so the sequence of a seed must not change.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates the generator of a seed's sequence.
    public init(seed: UInt64) { state = seed }

    /// Creates the generator of a seed's sequence, and prints the seed so that a failed run can be repeated.
    public init(printing seed: UInt64) {
        print("random seed \(seed)")
        self.init(seed: seed)
    }

    /// Returns the next number of the sequence.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
