import AdapterSupport
import Logging
import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// The parts of a web view engine that all of its runs share.
struct WebViewHost: Sendable {
    let configuration: WebViewConfiguration
    /// The engine's name in ``ScriptFacts/engine``.
    let engine: String
    let mailbox: PageMailbox
    let page: PageHandle
    let gate: NavigationGate
    let counters = PageCounters()
    /// The engine's log. A run that begins within a minute of another shares that run's log limits.
    let log: AdapterLog
    /// The log for the page's scripts.
    let scriptLog: PageLog

    /// Validates the configuration and creates the shared parts.
    ///
    /// - Parameters:
    ///   - engine: The name to report in the facts of messages from the page.
    ///   - navigations: A closure that observes each navigation request.
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`.
    init(
        _ configuration: WebViewConfiguration,
        engine: String,
        logger: Logger,
        navigations: NavigationGate.Observer? = nil
    ) throws(JSBridgeError) {
        try configuration.validate()
        self.configuration = configuration
        self.engine = engine
        mailbox = PageMailbox(
            title: configuration.page.title,
            bound: configuration.messagesToPage,
            limits: configuration.limits
        )
        page = PageHandle(port: mailbox)
        gate = NavigationGate(configuration, counters: counters, observer: navigations)
        log = AdapterLog(logger, source: configuration.source)
        scriptLog = PageLog(
            logger,
            source: configuration.source,
            linesPerSecond: configuration.consoleLinesPerSecond,
            counters: counters
        )
    }
}

/// Handles verdicts that refuse a navigation or allow a new window.
extension WebViewHost {
    /// Logs a verdict that refuses a download or the first page. Other refusals are expected, so they are not logged.
    ///
    /// - Parameter hasPage: Whether a page has already been committed.
    func reportRefused(_ verdict: NavigationVerdict, hasPage: Bool) {
        if verdict.policy != .cancel {
            let line = "a download was refused, because this engine has no downloads: \(verdict)"
            log.writeLimited(.warning, "download", line)
        } else if !hasPage {
            log.writeLimited(.warning, "first", "the first page is not allowed to load: \(verdict)")
        }
    }

    /// Returns the URL of an allowed new window, which the engine loads in its only view. Returns `nil` if the URL must
    /// not be opened in a window.
    func windowURL(of verdict: NavigationVerdict) -> URLText? {
        guard let url = verdict.url, url.scheme == "http" || url.scheme == "https" else {
            let line = "a new window was not opened, because only http and https are loaded: \(verdict)"
            log.writeLimited(.warning, "window", line)
            return nil
        }
        return url
    }
}
