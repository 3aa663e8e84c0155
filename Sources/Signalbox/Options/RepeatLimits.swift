/// How long and how many ids of a source are remembered, so that a message that comes again is known.
public struct RepeatLimits: Sendable, Hashable {
    /// The most ids, 1 to 10,000,000; 10,000 by default. Beyond it the oldest that is not running is forgotten.
    public var count: Int { didSet { check() } }
    /// How long an id is remembered after its action was handled, above zero; 10 min by default.
    public var time: Duration { didSet { check() } }
    /// The most bytes of replies kept, at least 0; 4 MiB by default. Beyond it the oldest ids with replies are forgotten.
    public var bytes: Int { didSet { check() } }

    /// - Precondition: the values are in their ranges.
    public init(count: Int = 10_000, time: Duration = .seconds(600), bytes: Int = 4 * 1024 * 1024) {
        self.count = count
        self.time = time
        self.bytes = bytes
        check()
    }

    private func check() {
        precondition((1...10_000_000).contains(count), "1 to 10,000,000 ids are remembered")
        precondition(time > .zero && bytes >= 0, "ids are remembered for more than no time, replies in 0 bytes or more")
    }
}
