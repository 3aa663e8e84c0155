/// Whether a page reacts: it is asked now and then, and has some time to answer. Pure: the caller says what time it is.
struct Liveness {
    /// What the caller does now.
    enum Step { case ask, wait, end }

    private let limit: Duration
    private var asked: ContinuousClock.Instant?
    private var waitsForUser = false

    /// - Parameter limit: how long an answer may take.
    init(limit: Duration) {
        self.limit = limit
    }

    /// How often to ask for the next step: often enough that a page is ended within a quarter more than the limit.
    var interval: Duration { min(limit / 8, .seconds(5)) }

    /// It is time to look.
    mutating func look(at now: ContinuousClock.Instant) -> Step {
        guard !waitsForUser else { return .wait }
        guard let asked else {
            self.asked = now
            return .ask
        }
        return now - asked >= limit ? .end : .wait
    }

    /// The page stands still until its user has answered a dialog: nothing is held against it before it reacts again.
    mutating func waitForUser() {
        waitsForUser = true
    }

    /// The page has answered, or is another now.
    mutating func reacted() {
        asked = nil
        waitsForUser = false
    }
}
