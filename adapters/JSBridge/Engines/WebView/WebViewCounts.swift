import Synchronization

/// The number of failures of each kind since a web view engine was created. None of these failures reached a plugin.
///
/// Use the counts to monitor an engine's pages.
public struct WebViewCounts: Sendable, Hashable {
    /// Page processes that ended by themselves, or that were ended because they were unresponsive.
    public var processesEnded = 0
    /// Uncaught errors in the page's scripts.
    public var scriptErrors = 0
    /// Calls that the page rejected with `full` because too many messages were waiting in the page.
    public var callsFullInPage = 0
    /// Handler calls outside the bridge that were rejected because too many such calls had not yet received an outcome.
    public var rawCallsRefused = 0
    /// Texts from the page's process that the bridge would never send. The engine read each of them up to its first
    /// error.
    public var malformedTexts = 0
    /// Texts that arrived after their document had ended.
    public var lateTexts = 0
    /// Navigation requests that received no verdict, because the deadline passed or too many were waiting. Nothing was
    /// loaded for them.
    public var navigationsUndecided = 0

    init() {}
}

/// Counts an engine's failures across all its runs. Safe to use from any thread.
final class PageCounters: Sendable {
    private let counts = Mutex(WebViewCounts())

    var value: WebViewCounts { counts.withLock { $0 } }

    func add(_ count: Int = 1, to member: WritableKeyPath<WebViewCounts, Int>) {
        counts.withLock { $0[keyPath: member] &+= count }
    }
}
