/// How much may be posted past the bridge: the library takes every such message, however many and large, on the thread that
/// all views share. Pure: the caller says what time it is.
struct RawBudget {
    /// The most messages within a second.
    static let messages = 1_000
    /// The most bytes of JSON within a second; the message that goes over it counts as the last.
    static let bytes = 16 * 1_024 * 1_024

    /// How much processor time they may take to be read within a second; the library has taken about as much before it
    /// hands one over.
    static let time = Duration.milliseconds(100)

    private var began: ContinuousClock.Instant?
    private var count = 0
    private var size = 0
    private var spent = Duration.zero

    /// One more message has come.
    ///
    /// - Parameters:
    ///   - bytes: the length of its JSON.
    ///   - time: how much processor time it took to be read.
    /// - Returns: whether more may come in this second.
    mutating func take(_ bytes: Int, in time: Duration, at now: ContinuousClock.Instant) -> Bool {
        if began.map({ now - $0 >= .seconds(1) }) ?? true {
            began = now
            (count, size, spent) = (0, 0, .zero)
        }
        count += 1
        size = min(size, RawBudget.bytes) + min(bytes, RawBudget.bytes)
        spent += time
        return count < RawBudget.messages && size < RawBudget.bytes && spent < RawBudget.time
    }
}
