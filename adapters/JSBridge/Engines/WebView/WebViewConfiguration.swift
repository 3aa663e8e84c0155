public import SignalboxCore

/// The source, page and limits of a web view.
///
/// ```swift
/// let page = try BridgeConfigurator().build(url: URLText("https://shop.example/"))
/// var configuration = WebViewConfiguration(source: "shop", page: page)
/// configuration.display = .window(width: 1_280, height: 800)
/// ```
public struct WebViewConfiguration: Sendable {
    /// The source name of the messages that the page sends.
    public var source: SourceName
    /// The first page, and what it and later pages are allowed to do.
    public var page: BridgeConfiguration
    /// How the view is displayed. By default, it is off-screen and measures 1,024 by 768 pixels.
    public var display = WebViewDisplay.offscreen(width: 1_024, height: 768)
    /// The maximum time to wait for a navigation verdict. Must be above zero and at most 1 h; the default is 10 s. A
    /// navigation that receives no verdict in time does not load.
    public var navigationDeadline: Duration = .seconds(10)
    /// The maximum number of navigations that can wait for a verdict, from 1 to 10,000. The default is 100. Any further
    /// navigations are cancelled.
    public var navigationsWaiting = 100
    /// The maximum number of the page's messages that have not yet received an outcome, from 1 to 100,000. The default
    /// is 1,000. Any further messages wait in the page.
    public var messagesInFlight = 1_000
    /// The maximum total size, in bytes, of the page's messages that have not yet received an outcome. Must be at least
    /// the size limit for a single message; the default is 16 MiB. The page counts each UTF-16 code unit as one byte,
    /// so non-ASCII text can take up to three times as many bytes.
    public var bytesInFlight = 16 * 1_024 * 1_024
    /// The maximum number of messages that can wait in the page until earlier ones receive their outcomes, from 1 to
    /// 1,000,000. The default is 10,000. When the limit is reached, the page rejects further calls with `full`, and the
    /// engine counts these rejections.
    public var messagesWaitingInPage = 10_000
    /// The maximum number of calls and messages from the program that can wait for the page, from 1 to 1,000,000. The
    /// default is 1,000. When the limit is reached, a ``PageHandle`` throws `full`.
    public var messagesToPage = 1_000
    /// The maximum number of messages that can wait in the page for a `signalbox.on` listener, from 1 to 1,000,000. The
    /// default is 256. When the limit is exceeded, the page logs and drops the oldest message. If that message was a
    /// call, the call fails.
    public var messagesWithoutListener = 256
    /// How long a page can be unresponsive before its process is ended. Must be at least 1 s; the default is 30 s.
    public var unresponsiveLimit: Duration = .seconds(30)
    /// The maximum number of reloads in a row after the page's process ends, from 0 to 1,000. The default is 5.
    ///
    /// When no reloads are left, the run ends with ``JSBridgeError`` `pageFailed`. The count restarts once a page has
    /// lived for a minute.
    public var reloads = 5
    /// The maximum delay before a reload. Must be above zero and at most 1 h; the default is 30 s. The first delay is
    /// at most 1 s.
    public var reloadCap: Duration = .seconds(30)
    /// The limits for a single message, in either direction.
    public var limits = MessageLimits()
    /// The maximum number of script errors logged per second. Must be at least 1; the default is 100. One extra line
    /// reports how many lines were withheld.
    public var consoleLinesPerSecond = 100
    /// The time limit for a page's graceful end. Only tests change it.
    var gracefulCloseTimeout: Duration = .seconds(2)

    /// Creates a configuration with default limits.
    public init(source: SourceName, page: BridgeConfiguration) {
        self.source = source
        self.page = page
    }
}

extension WebViewConfiguration {
    /// Checks that every value is in range.
    ///
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`, which describes the first invalid value and how to fix it.
    public func validate() throws(JSBridgeError) {
        let check = ConfigurationCheck(source: source)
        let (width, height) = display.size
        let isDisplayable = (1...16_384).contains(width) && (1...16_384).contains(height)
        try check.require(isDisplayable, "width and height of the display must be 1 to 16384 pixels")
        try check.require(messagesInFlight, in: 1...100_000, "the messages in flight")
        let holdsOne = bytesInFlight >= limits.bytes
        try check.require(holdsOne, "the bytes in flight must be at least the \(limits.bytes) of one message")
        try check.require(messagesWaitingInPage, in: 1...1_000_000, "the messages waiting in the page")
        try check.require(messagesToPage, in: 1...1_000_000, "the messages to the page")
        try check.require(messagesWithoutListener, in: 1...1_000_000, "the messages without a listener")
        let hour = Duration.seconds(3_600)
        let hasDeadline = navigationDeadline > .zero && navigationDeadline <= hour
        try check.require(hasDeadline, "the deadline of a navigation must be above zero and at most 1 h")
        try check.require(navigationsWaiting, in: 1...10_000, "the waiting navigations")
        let isPatient = unresponsiveLimit >= .seconds(1)
        try check.require(isPatient, "the limit of an unresponsive page must be at least 1 s")
        try check.require(reloads, in: 0...1_000, "the reloads")
        let hasCap = reloadCap > .zero && reloadCap <= hour
        try check.require(hasCap, "the longest wait before a reload must be above zero and at most 1 h")
        try check.require(consoleLinesPerSecond >= 1, "the console lines per second must be at least 1")
    }
}

/// How a web view is displayed.
public enum WebViewDisplay: Sendable, Hashable {
    /// The page is not displayed, and is drawn only for snapshots. Width and height are in pixels, from 1 to 16,384.
    case offscreen(width: Int, height: Int)
    /// The page has a window that shows the page's title. Width and height are in pixels, from 1 to 16,384.
    case window(width: Int, height: Int)

    /// The width and height in pixels.
    var size: (width: Int, height: Int) {
        switch self {
        case .offscreen(let width, let height), .window(let width, let height): (width, height)
        }
    }

    var isOffscreen: Bool {
        if case .offscreen = self { true } else { false }
    }
}
