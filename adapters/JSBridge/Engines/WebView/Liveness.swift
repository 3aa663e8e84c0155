import AdapterSupport
import SignalboxCore

/// Checks whether a page responds within a time limit. It has no side effects, because the caller passes the time.
struct Liveness {
    /// What the caller must do next.
    enum Step { case ping, wait, terminate }

    private let limit: Duration
    private var pingedAt: ContinuousClock.Instant?
    private var waitsForUser = false

    /// - Parameter limit: The maximum time that the page may take to respond.
    init(limit: Duration) {
        self.limit = limit
    }

    /// The interval between checks. It ensures that an unresponsive page is ended within 125 % of the limit.
    var interval: Duration { min(limit / 8, .seconds(5)) }

    /// Returns the next step.
    mutating func check(at now: ContinuousClock.Instant) -> Step {
        guard !waitsForUser else { return .wait }
        guard let pingedAt else {
            self.pingedAt = now
            return .ping
        }
        return now - pingedAt >= limit ? .terminate : .wait
    }

    /// Suspends the check while a dialog blocks the page. The check resumes when the page responds again.
    mutating func waitForUser() {
        waitsForUser = true
    }

    /// Records that the page responded or was replaced.
    mutating func responded() {
        pingedAt = nil
        waitsForUser = false
    }
}

/// Decides whether to reload a page whose process ended. It has no side effects, because the caller passes the time.
struct CrashReloadPolicy {
    /// How long a page must live before earlier failures are forgotten.
    static let resetAfter = Duration.seconds(60)

    private let source: SourceName
    private let reloads: Int
    private var backoff: ReconnectBackoff
    private var consecutiveFailures = 0
    private var began: ContinuousClock.Instant?

    init(_ configuration: WebViewConfiguration) {
        source = configuration.source
        reloads = configuration.reloads
        let cap = configuration.reloadCap
        backoff = ReconnectBackoff(first: min(.seconds(1), cap), cap: cap, slow: cap...cap)
    }

    /// Records that a load was committed. Repeated calls for the same process have no effect.
    mutating func loadCommitted(at now: ContinuousClock.Instant) {
        if began == nil { began = now }
    }

    /// Records that the page's process ended, or that its first page failed to load.
    ///
    /// - Parameter jitter: A random number from 0 to 1 that selects the delay within its range.
    /// - Returns: The delay before the page is reloaded, or `nil` after too many failures in a row.
    mutating func failed(at now: ContinuousClock.Instant, jitter: Double) -> Duration? {
        if let began, now - began >= CrashReloadPolicy.resetAfter {
            consecutiveFailures = 0
            backoff.succeeded()
        }
        began = nil
        guard consecutiveFailures < reloads else { return nil }
        consecutiveFailures += 1
        return backoff.next(isConfigurationError: false, jitter: jitter)
    }

    /// Returns the error for a page that failed too many times in a row.
    ///
    /// - Parameter reason: A description of the last failure.
    func error(_ reason: String) -> JSBridgeError {
        let detail = "\(reason), and \(reloads) reloads in a row failed; raise `reloads` or fix the page"
        return JSBridgeError(.pageFailed, detail, source: source)
    }
}

/// Tracks a page's graceful end, once all of the page's messages have their outcomes.
struct GracefulClose {
    /// The maximum number of rounds, which stops a page that makes another call on every `drain`.
    private static let maximumRounds = 100

    private(set) var hasBegun = false
    /// Whether the page was notified of its end. Once notified, the page settles its calls itself.
    private(set) var hasEnded = false
    private var rounds = 0

    /// - Returns: Whether this call begins the graceful end.
    mutating func begin() -> Bool {
        defer { hasBegun = true }
        return !hasBegun
    }

    mutating func end() {
        hasEnded = true
    }

    /// Records another script that delivers outcomes.
    mutating func countRound() {
        if hasBegun { rounds += 1 }
    }

    var hasTooManyRounds: Bool { rounds > GracefulClose.maximumRounds }
}
