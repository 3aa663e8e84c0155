/// Bounds how long JavaScript may run, and how much memory it may take, before it gives the thread back; says whether it was
/// ended. Belongs to the page's thread.
///
/// The engine counts from each entry, and each microtask is one; so it is asked to come back after a slice of the time, and
/// what counts is what the thread has used since the turn began.
final class TurnLimit {
    /// One slice, in seconds: how late a page that runs hears that it ends.
    let slice: Double
    private let limit: Duration
    private let mustEnd: () -> Bool
    private var began = Duration.zero
    /// Whether JavaScript was ended since the last ``begin()``.
    private(set) var hasEnded = false
    /// Whether it was because the turn lasted too long.
    private(set) var wasReached = false
    /// Whether it was because its objects took too much memory.
    private(set) var wasOverMemory = false
    /// Whether the objects take too much memory; asked between slices.
    var isOverMemory: () -> Bool = { false }
    /// The page's last turn is not ended by what ended the page.
    var isLastTurn = false

    /// - Parameters:
    ///   - limit: processor time.
    ///   - mustEnd: asked between slices.
    init(_ limit: Duration, mustEnd: @escaping () -> Bool) {
        let seconds = Double(limit.components.seconds) + Double(limit.components.attoseconds) / 1e18
        slice = min(seconds, 0.02)
        self.limit = limit
        self.mustEnd = mustEnd
    }

    func begin() {
        began = ThreadTime.ofThisThread
        hasEnded = false
        wasReached = false
        wasOverMemory = false
    }

    /// Called after each slice.
    ///
    /// - Returns: whether JavaScript ends now.
    func sliceUsed() -> Bool {
        wasReached = ThreadTime.ofThisThread - began >= limit
        wasOverMemory = wasOverMemory || (!wasReached && !isLastTurn && isOverMemory())
        hasEnded = wasReached || wasOverMemory || (!isLastTurn && mustEnd())
        return hasEnded
    }
}
