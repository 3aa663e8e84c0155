/// How much the store of dead letters keeps. When either bound is exceeded the oldest are dropped, and counted.
public struct DeadLetterLimits: Sendable, Hashable {
    /// The most dead letters, at least 1; 1,000 by default.
    public var count: Int { didSet { check() } }
    /// The most bytes of their originals, at least 1; 16 MiB by default.
    public var bytes: Int { didSet { check() } }

    /// - Precondition: both are at least 1.
    public init(count: Int = 1_000, bytes: Int = 16 * 1024 * 1024) {
        self.count = count
        self.bytes = bytes
        check()
    }

    private func check() {
        precondition(count >= 1 && bytes >= 1, "a store of dead letters keeps at least 1 letter and 1 byte")
    }
}
