import AdapterThreads

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
