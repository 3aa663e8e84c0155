/// At most so many log lines in each second; the rest is counted. Pure: the caller says what time it is.
struct LineBudget {
    let linesPerSecond: Int
    private var began: ContinuousClock.Instant?
    private var used = 0
    private(set) var withheld = 0

    init(linesPerSecond: Int) {
        self.linesPerSecond = linesPerSecond
    }

    /// Whether a line may be written; else it is counted.
    mutating func admit(at now: ContinuousClock.Instant) -> Bool {
        if began.map({ now - $0 >= .seconds(1) }) ?? true {
            began = now
            used = 0
        }
        guard used < linesPerSecond else {
            withheld += 1
            return false
        }
        used += 1
        return true
    }

    /// The lines withheld, when it is time to tell of them: a second has passed, or the page ends.
    mutating func takeWithheld(at now: ContinuousClock.Instant, isLast: Bool = false) -> Int {
        guard withheld > 0, isLast || began.map({ now - $0 >= .seconds(1) }) ?? true else { return 0 }
        defer { withheld = 0 }
        return withheld
    }
}
