public import SignalboxCore

/// What a headless page runs, and its bounds.
public struct JavaScriptCoreConfiguration: Sendable {
    /// The configured source whose arrivals these are.
    public var source: SourceName
    /// Run in this order when the page begins, in one global scope.
    public var scripts: [PageScript]
    /// What ``PageHandle/title`` answers, as a script has no document of its own; none by default.
    public var title: String?
    /// Whether the page ends by itself once no timer, no call in flight and no message to it is left; `false` by default.
    public var endsWhenIdle = false
    /// How much processor time scripts may use without giving the thread back, above zero and at most 1 h; 10 s by
    /// default. A page that uses more is closed; a chain of promises without end may use some times as much first. Not
    /// enforced on Apple platforms, where the call for it is private.
    public var executionTimeLimit: Duration = .seconds(10)
    /// How much memory the scripts' objects may take, in bytes, at least 1 MiB; 256 MiB by default. Checked at most ten
    /// times a second, between turns and within them, so a page may exceed it for a moment; one that stays over it is closed. A
    /// single call into the library, such as a sort, is not interrupted. Not enforced on Apple platforms.
    public var heapLimit = 256 * 1_024 * 1_024
    /// The most timers at once, 1 to 1,000,000; 1,000 by default. `setTimeout` throws a `RangeError` beyond it.
    public var timerLimit = 1_000
    /// The most calls and messages from the program that wait for the page's thread, 1 to 1,000,000; 1,000 by default.
    /// Beyond it a ``PageHandle`` answers `full`.
    public var messagesToPage = 1_000
    /// The most messages that wait in the page for a listener of `signalbox.on`, 1 to 1,000,000; 256 by default. Beyond it
    /// the oldest is dropped, which is logged; a call that waited for an answer gets an error.
    public var messagesWithoutListener = 256
    /// The most messages from the page that are submitted at once, 1 to 1,000; 256 by default. While the source's window is
    /// full the script stands still in its `postMessage` or `call`.
    public var batchMessages = 256
    /// The bounds of one message, either way.
    public var limits = MessageLimits()
    /// The most lines a second that `console` may log, at least 1; 100 by default. What is over is counted and told in one
    /// line.
    public var consoleLinesPerSecond = 100

    /// The process in which the scripts run; `nil` (default): the program's own.
    public var process: ScriptProcess?

    /// A page of these scripts, with the defaults.
    public init(source: SourceName, scripts: [PageScript]) {
        self.source = source
        self.scripts = scripts
    }
}
