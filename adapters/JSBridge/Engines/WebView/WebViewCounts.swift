import Synchronization

/// What a web view had to count since it was made. Nothing of it reached a plugin.
public struct WebViewCounts: Sendable, Hashable {
    /// How often the page's process ended by itself, or was ended because it did not react.
    public var processesEnded = 0
    /// Errors of the page's scripts that nobody caught.
    public var scriptErrors = 0
    /// Calls rejected with `full` in the page, as too many waited there.
    public var callsFullInPage = 0
    /// Calls of a handler by another way than the bridge that were rejected at once, as too many had no outcome.
    public var rawCallsRefused = 0
    /// Texts from the page's process that are not what the bridge sends; nothing of what follows the fault was read.
    public var malformedTexts = 0
    /// Texts of documents that had gone when they came.
    public var lateTexts = 0
    /// Questions about URLs that had no verdict in time, or were too many: nothing was loaded.
    public var navigationsUndecided = 0

    init() {}
}

/// What an engine counts, through all its runs. Any thread.
final class WebViewCounters: Sendable {
    /// What a ``PageLog`` counts.
    let scriptErrors = ScriptErrorCount()
    private let counts = Mutex(WebViewCounts())

    var value: WebViewCounts {
        var value = counts.withLock { $0 }
        value.scriptErrors = scriptErrors.value
        return value
    }

    func add(_ count: Int = 1, to member: WritableKeyPath<WebViewCounts, Int>) {
        counts.withLock { $0[keyPath: member] &+= count }
    }
}
