import Synchronization

/// The failures that a web view has counted since it was created. None of them reached a plugin.
///
/// Use these counts to monitor the pages of an engine.
public struct WebViewCounts: Sendable, Hashable {
    /// Processes of pages that ended by themselves, or that were ended because they were unresponsive.
    public var processesEnded = 0
    /// Uncaught errors in the scripts of the page.
    public var scriptErrors = 0
    /// Calls that the page rejected with `full` because too many messages waited in the page.
    public var callsFullInPage = 0
    /// Handler calls outside the bridge that were rejected, because too many such calls had no outcome.
    public var rawCallsRefused = 0
    /// Texts from the process of the page that the bridge never sends. Each text was read up to its first error.
    public var malformedTexts = 0
    /// Texts that arrived after their document had ended.
    public var lateTexts = 0
    /// Navigation requests that got no verdict, because of the deadline or the limit. Nothing was loaded for them.
    public var navigationsUndecided = 0

    init() {}
}

/// The counters of an engine for all its runs. They are safe to use from any thread.
final class PageCounters: Sendable {
    private let counts = Mutex(WebViewCounts())

    var value: WebViewCounts { counts.withLock { $0 } }

    func add(_ count: Int = 1, to member: WritableKeyPath<WebViewCounts, Int>) {
        counts.withLock { $0[keyPath: member] &+= count }
    }
}
