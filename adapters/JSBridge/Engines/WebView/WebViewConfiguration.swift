public import SignalboxCore

/// A web view: its source, what its pages are told, and its bounds.
public struct WebViewConfiguration: Sendable {
    /// The configured source whose arrivals these are.
    public var source: SourceName
    /// What is loaded, and what pages may do.
    public var page: BridgeConfiguration
    /// Where it is shown.
    public var display = WebViewDisplay.offscreen(width: 1_024, height: 768)
    /// How long a verdict about a URL may take in all, above zero and at most 1 h; 10 s by default. Then nothing is loaded.
    public var navigationDeadline: Duration = .seconds(10)
    /// How many questions about URLs may wait for their verdicts, 1 to 10,000; 100 by default. Beyond it nothing is loaded.
    public var navigationsWaiting = 100
    /// How many messages of the page may be without an outcome, 1 to 100,000; 1,000 by default. Further ones wait in the
    /// page.
    public var messagesInFlight = 1_000
    /// How many bytes they may have together, at least the limit of a message; 16 MiB by default. Counted as the page does,
    /// by UTF-16 code units: text that is not ASCII may have up to three times as many bytes.
    public var bytesInFlight = 16 * 1_024 * 1_024
    /// How many messages may wait in the page for those before them, 1 to 1,000,000; 10,000 by default. A call beyond it is
    /// rejected with `full` in the page, which is counted.
    public var messagesWaitingInPage = 10_000
    /// The most calls and messages from the program that wait for the page, 1 to 1,000,000; 1,000 by default. Beyond it a
    /// ``PageHandle`` answers `full`.
    public var messagesToPage = 1_000
    /// The most messages that wait in the page for a listener of `signalbox.on`, 1 to 1,000,000; 256 by default. Beyond it
    /// the oldest is dropped, which is logged; a call that waited for an answer gets an error.
    public var messagesWithoutListener = 256
    /// How long a page may not react before its process is ended, at least 1 s; 30 s by default.
    public var unresponsiveLimit: Duration = .seconds(30)
    /// How often in a row a page whose process ended is loaded again, 0 to 1,000; 5 by default. Then the run ends with
    /// ``JSBridgeError`` `pageFailed`. A page that lasted a minute begins anew.
    public var reloads = 5
    /// The longest wait before it is loaded again, above zero and at most 1 h; 30 s by default. The first is at most 1 s.
    public var reloadCap: Duration = .seconds(30)
    /// The bounds of one message, either way.
    public var limits = MessageLimits()
    /// The most lines a second that script errors may log, at least 1; 100 by default. What is over is counted and told.
    public var consoleLinesPerSecond = 100
    /// How long the last words to a page may take that does not react; 2 s unless a test says otherwise.
    var lastWords: Duration = .seconds(2)

    /// A web view with the defaults.
    public init(source: SourceName, page: BridgeConfiguration) {
        self.source = source
        self.page = page
    }
}
