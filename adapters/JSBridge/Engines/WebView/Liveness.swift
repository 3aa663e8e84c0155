import AdapterThreads

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

/// Whether and when a page whose process ended is loaded again. Pure: the caller says what time it is.
struct ReloadPlan {
    /// A page that lived so long was well: what came before it is forgotten.
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

    /// A page has begun to show: a load was committed. Said again of the same process, it changes nothing.
    mutating func lives(at now: ContinuousClock.Instant) {
        if began == nil { began = now }
    }

    /// The page's process has ended.
    ///
    /// - Parameter share: drawn at random from 0 to 1: where in its range the wait lies.
    /// - Returns: how long to wait before the page is loaded again, or `nil`: it failed too often.
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

/// How far the graceful end of a page has come, once all its messages have their outcomes.
struct LastWords {
    /// How often a page that calls again when it is answered `drain` is answered.
    private static let mostRounds = 100

    private(set) var haveBegun = false
    /// The page was told that it ends; it settles its calls by itself then.
    private(set) var haveEnded = false
    private var rounds = 0

    /// - Returns: whether they begin now.
    mutating func begin() -> Bool {
        defer { haveBegun = true }
        return !haveBegun
    }

    mutating func end() {
        haveEnded = true
    }

    /// One more script tells the page outcomes.
    mutating func countRound() {
        if haveBegun { rounds += 1 }
    }

    var areTooMany: Bool { rounds > LastWords.mostRounds }
}
