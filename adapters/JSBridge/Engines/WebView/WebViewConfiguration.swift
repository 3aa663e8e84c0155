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

extension WebViewConfiguration {
    /// Checks every range.
    ///
    /// - Throws: ``JSBridgeError`` `invalidConfiguration` for the first fault, with what to do.
    public func validate() throws(JSBridgeError) {
        try checkDisplay()
        try checkMessages()
        let hour = Duration.seconds(3_600)
        guard navigationDeadline > .zero, navigationDeadline <= hour else {
            throw fault("the deadline of a navigation is above zero and at most 1 h")
        }
        guard (1...10_000).contains(navigationsWaiting) else { throw fault("the navigations that wait are 1 to 10000") }
        guard unresponsiveLimit >= .seconds(1) else { throw fault("the limit of an unresponsive page is at least 1 s") }
        guard (0...1_000).contains(reloads) else { throw fault("the reloads are 0 to 1000") }
        guard reloadCap > .zero, reloadCap <= hour else {
            throw fault("the longest wait before a reload is above zero and at most 1 h")
        }
        guard consoleLinesPerSecond >= 1 else { throw fault("the console lines a second are at least 1") }
    }

    private func checkDisplay() throws(JSBridgeError) {
        let (width, height) =
            switch display {
            case .offscreen(let width, let height), .window(let width, let height): (width, height)
            }
        guard (1...16_384).contains(width), (1...16_384).contains(height) else {
            throw fault("width and height of the display are 1 to 16384 pixels")
        }
    }

    private func checkMessages() throws(JSBridgeError) {
        guard (1...100_000).contains(messagesInFlight) else { throw fault("the messages in flight are 1 to 100000") }
        guard bytesInFlight >= limits.bytes else {
            throw fault("the bytes in flight are at least the \(limits.bytes) of one message")
        }
        let million = 1...1_000_000
        guard million.contains(messagesWaitingInPage) else {
            throw fault("the messages that wait in the page are 1 to 1000000")
        }
        guard million.contains(messagesToPage) else { throw fault("the messages to the page are 1 to 1000000") }
        guard million.contains(messagesWithoutListener) else {
            throw fault("the messages without a listener are 1 to 1000000")
        }
    }

    private func fault(_ detail: String) -> JSBridgeError {
        JSBridgeError(.invalidConfiguration, detail, source: source)
    }
}

/// Where a web view is shown.
public enum WebViewDisplay: Sendable, Hashable {
    /// Nowhere: the page is drawn for snapshots only. Width and height in pixels, 1 to 16,384.
    case offscreen(width: Int, height: Int)
    /// In a window of its own, with the page's title. Width and height in pixels, 1 to 16,384.
    case window(width: Int, height: Int)
}
