import Synchronization

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
