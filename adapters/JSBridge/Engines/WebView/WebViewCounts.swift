import Synchronization

/// The failures that a web view has counted since it was created. None of them reached a plugin.
public struct WebViewCounts: Sendable, Hashable {
    /// Page processes that ended by themselves, or were ended because they were unresponsive.
    public var processesEnded = 0
    /// Uncaught errors of the page's scripts.
    public var scriptErrors = 0
    /// Calls that the page rejected with `full` because too many waited there.
    public var callsFullInPage = 0
    /// Handler calls outside the bridge that were rejected because too many had no outcome.
    public var rawCallsRefused = 0
    /// Texts from the page's process that the bridge never sends. Each was read up to its error.
    public var malformedTexts = 0
    /// Texts that arrived after their document had ended.
    public var lateTexts = 0
    /// Navigation requests without a verdict, because of the deadline or the limit. They loaded nothing.
    public var navigationsUndecided = 0

    init() {}
}

/// The counters of an engine for all its runs. Safe on any thread.
final class PageCounters: Sendable {
    private let counts = Mutex(WebViewCounts())

    var value: WebViewCounts { counts.withLock { $0 } }

    func add(_ count: Int = 1, to member: WritableKeyPath<WebViewCounts, Int>) {
        counts.withLock { $0[keyPath: member] &+= count }
    }
}
