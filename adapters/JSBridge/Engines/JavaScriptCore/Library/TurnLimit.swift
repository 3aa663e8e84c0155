/// How long JavaScript may run without giving the thread back, and whether it was ended.
///
/// The engine counts from each entry, and each microtask is one; so it is asked for slices, and those of one turn are
/// counted together. Belongs to the page's thread.
final class TurnLimit {
    /// One slice, in seconds.
    let slice: Double
    private let slices: Int
    private let mustEnd: () -> Bool
    private var used = 0
    /// Whether JavaScript was ended since the last ``begin()``.
    private(set) var hasEnded = false
    /// Whether it was because the turn lasted too long.
    private(set) var wasReached = false
    /// The page's last turn is not ended by what ended the page.
    var isLastTurn = false

    /// - Parameters:
    ///   - limit: processor time.
    ///   - mustEnd: asked between slices.
    init(_ limit: Duration, mustEnd: @escaping () -> Bool) {
        let seconds = Double(limit.components.seconds) + Double(limit.components.attoseconds) / 1e18
        slices = max(1, Int((seconds / 0.1).rounded(.up)))
        slice = seconds / Double(slices)
        self.mustEnd = mustEnd
    }

    func begin() {
        used = 0
        hasEnded = false
        wasReached = false
    }

    /// Called after each slice.
    ///
    /// - Returns: whether JavaScript ends now.
    func sliceUsed() -> Bool {
        if !isLastTurn && mustEnd() {
            hasEnded = true
        } else {
            used += 1
            wasReached = used >= slices
            hasEnded = wasReached
        }
        return hasEnded
    }
}
