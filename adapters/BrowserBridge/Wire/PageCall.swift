/// A call as a page's message has it.
struct PageCall {
    let json: Range<Int>
    /// In milliseconds, 0 for none.
    let timeout: UInt64
    let handler: Range<Int>?

    /// Longer ones are as good as none.
    private static let longest: UInt64 = 1 << 40

    var deadline: ContinuousClock.Instant? {
        timeout == 0 ? nil : .now + .milliseconds(Int64(min(timeout, PageCall.longest)))
    }
}
