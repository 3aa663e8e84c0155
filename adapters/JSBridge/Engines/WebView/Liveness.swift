import AdapterThreads

/// A check whether a page responds within a time limit. Pure: the caller passes the time.
struct Liveness {
    /// The caller's next action.
    enum Step { case ask, wait, end }

    private let limit: Duration
    private var asked: ContinuousClock.Instant?
    private var waitsForUser = false

    /// - Parameter limit: The maximum time for an answer.
    init(limit: Duration) {
        self.limit = limit
    }

    /// The interval between checks. It ends a page within 125 % of the limit.
    var interval: Duration { min(limit / 8, .seconds(5)) }

    /// Returns the next step.
    mutating func look(at now: ContinuousClock.Instant) -> Step {
        guard !waitsForUser else { return .wait }
        guard let asked else {
            self.asked = now
            return .ask
        }
        return now - asked >= limit ? .end : .wait
    }

    /// Suspends the check while a dialog blocks the page, until the page responds again.
    mutating func waitForUser() {
        waitsForUser = true
    }

    /// Records that the page responded or was replaced.
    mutating func reacted() {
        asked = nil
        waitsForUser = false
    }
}

/// A policy for reloading a page whose process ended. Pure: the caller passes the time.
struct ReloadPlan {
    /// The lifetime after which earlier failures are forgotten.
    static let lasting = Duration.seconds(60)

    private let reloads: Int
    private let first: Duration
    private let cap: Duration
    private var backoff: ReconnectBackoff
    private var inRow = 0
    private var began: ContinuousClock.Instant?

    init(_ configuration: WebViewConfiguration) {
        reloads = configuration.reloads
        cap = configuration.reloadCap
        first = min(.seconds(1), cap)
        backoff = ReconnectBackoff(first: first, cap: cap, slow: cap...cap)
    }

    /// Records a committed load. Repeated calls for one process have no effect.
    mutating func lives(at now: ContinuousClock.Instant) {
        if began == nil { began = now }
    }

    /// Records the end of the page's process.
    ///
    /// - Parameter share: A random position from 0 to 1 in the range of the wait.
    /// - Returns: The wait before the page is reloaded, or `nil` after too many failures in a row.
    mutating func ended(at now: ContinuousClock.Instant, share: Double) -> Duration? {
        if let began, now - began >= ReloadPlan.lasting {
            inRow = 0
            backoff.succeeded()
        }
        began = nil
        guard inRow < reloads else { return nil }
        inRow += 1
        return backoff.next(isConfigurationFault: false, share: share)
    }
}

/// The progress of a page's graceful end after all its messages have their outcomes.
struct LastWords {
    /// The maximum number of rounds for a page that calls again on each `drain`.
    private static let mostRounds = 100

    private(set) var haveBegun = false
    /// Whether the page was notified of its end, after which it settles its calls by itself.
    private(set) var haveEnded = false
    private var rounds = 0

    /// - Returns: Whether this call begins the graceful end.
    mutating func begin() -> Bool {
        defer { haveBegun = true }
        return !haveBegun
    }

    mutating func end() {
        haveEnded = true
    }

    /// Counts another script that delivers outcomes.
    mutating func countRound() {
        if haveBegun { rounds += 1 }
    }

    var areTooMany: Bool { rounds > LastWords.mostRounds }
}
