public import Logging
public import SignalboxCore

/// A page without a window: scripts in JavaScriptCore, with `signalbox`, `window.webkit.messageHandlers`, timers and
/// `console`, and nothing else of a browser: no DOM, no `fetch`, no navigation, no modules.
///
/// One thread per engine runs all of its JavaScript. A call is answered with its outcome; nothing is acknowledged and
/// nothing comes again.
public final class JavaScriptCoreEngine: Adapter {
    /// What the engine was made with.
    public let configuration: JavaScriptCoreConfiguration
    /// The page, before it begins too: what is sent then waits, bounded.
    public let page: PageHandle
    private let logger: Logger

    /// - Parameters:
    ///   - configuration: checked here.
    ///   - logger: hears of script errors, of `console`, and of dropped messages.
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`.
    public init(_ configuration: JavaScriptCoreConfiguration, logger: Logger) throws(JSBridgeError) {
        self.configuration = configuration
        self.logger = logger
        fatalError("the engine follows")
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Every call is answered, and the program can send unasked.
    public var features: AdapterFeatures { [.replies, .pushes] }

    /// How many scripts, timers and listeners threw, or were rejected without anybody looking, since the engine was made.
    public var scriptErrors: Int { 0 }

    /// Runs the scripts, and then timers and answers, until its task is cancelled, the page is closed, or it is idle and
    /// ``JavaScriptCoreConfiguration/endsWhenIdle``.
    ///
    /// Each run is a new page. Cancellation is the graceful stop: calls made from then on are answered `drain`, those in
    /// flight get their outcome, then the page ends.
    ///
    /// - Throws: ``JSBridgeError`` `alreadyRunning`, `noResources`, `executionTimeLimit`, `heapLimit`.
    public func run(into intake: any Intake) async throws {}
}
