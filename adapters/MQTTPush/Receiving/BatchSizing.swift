/// Decides how many messages the next batch may have, so that a slow plugin is never given more than it can settle
/// within the hold limit.
///
/// One message after each connect; twice as many when a full batch was held for less than an eighth of the hold limit;
/// half as many when one was held for longer than half of it.
struct BatchSizing: Equatable {
    /// The most messages the next batch may have.
    private(set) var target = 1
    private let bound: Int
    private let holdLimit: Duration

    init(bound: Int, holdLimit: Duration) {
        self.bound = bound
        self.holdLimit = holdLimit
    }

    mutating func connected() {
        target = 1
    }

    /// A batch of `count` messages was settled after `duration`.
    mutating func held(_ count: Int, for duration: Duration) {
        if duration > holdLimit / 2 {
            target = max(1, min(target, count) / 2)
        } else if duration < holdLimit / 8 && count >= target {
            target = min(bound, target * 2)
        }
    }
}
