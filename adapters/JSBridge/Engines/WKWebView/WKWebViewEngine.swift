#if canImport(WebKit)
import AdapterSupport
import Foundation
public import Logging
public import NavigationChain
public import SignalboxCore
public import SignalboxRoutes
import Synchronization
public import WebKit

/// Runs a page in a `WKWebView` on Apple platforms. This is the counterpart of `WebKitGTKEngine` on Linux.
///
/// ```swift
/// let page = try BridgeConfigurator().build(url: URLText("https://shop.example/"))
/// let engine = try WKWebViewEngine(WebViewConfiguration(source: "shop", page: page), logger: logger)
/// try supervisor.add(engine)
/// ```
///
/// The view lives on the main actor, which must not be blocked, so a command-line program has to run a main loop.
///
/// The engine trusts a message only if it comes from the main frame through a separate script world, and if the script
/// and the frame report the same origin. Any other handler call has an unknown origin and is denied, unless a rule
/// explicitly allows such calls.
///
/// This engine is compiled on Linux against a WebKit stub and is untested at run time. `docs/wkwebview.md` describes
/// its limits.
public final class WKWebViewEngine: Adapter {
    /// A closure that observes navigation requests.
    ///
    /// The observer is called on the task that requests the verdict, so it must not block. The request is `nil` if the
    /// text is not a URL.
    public typealias NavigationObserver = @Sendable (NavigationRequest?, NavigationVerdict) -> Void

    /// The engine's configuration.
    public var configuration: WebViewConfiguration { host.configuration }
    /// The page, which stays the same across runs. Messages that the program sends wait in a bounded queue until a page
    /// with the bridge is loaded.
    public var page: PageHandle { host.page }
    private let host: WebViewHost
    /// The current run's commands.
    private let commands = Mutex<PageCommands?>(nil)
    @MainActor private var storedView: WKWebView?
    @MainActor private var currentPage: WebViewPage?

    /// Creates an engine and validates its configuration.
    ///
    /// - Parameters:
    ///   - configuration: The page and its limits.
    ///   - logger: The logger for script errors, page failures and reports of dropped messages.
    ///   - navigations: A closure that observes each navigation request.
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`.
    public init(
        _ configuration: WebViewConfiguration,
        logger: Logger,
        navigations: NavigationObserver? = nil
    ) throws(JSBridgeError) {
        host = try WebViewHost(configuration, engine: "WKWebView", logger: logger, navigations: navigations)
    }

    /// The source name from the configuration.
    public var source: SourceName { configuration.source }

    /// The engine replies to every call, delivers messages that the program pushes, and asks for a verdict on every
    /// navigation.
    public var features: AdapterFeatures { [.replies, .pushes, .navigates] }

    /// The failures counted since the engine was created.
    public var counts: WebViewCounts { host.counters.value }

    /// The number of uncaught script errors since the engine was created.
    public var scriptErrors: Int { host.counters.value.scriptErrors }

    /// The view. It stays the same across runs and has the configured size.
    ///
    /// Add the view to your view hierarchy. While the engine runs, it owns the view's delegates and content controller.
    /// Website data stays in memory for as long as the engine exists.
    @MainActor public var view: WKWebView {
        if let storedView { return storedView }
        let (width, height) = configuration.display.size
        let settings = WKWebViewConfiguration()
        settings.websiteDataStore = .nonPersistent()
        if let suffix = configuration.page.userAgentSuffix { settings.applicationNameForUserAgent = suffix }
        let view = WKWebView(frame: CGRect(x: 0, y: 0, width: width, height: height), configuration: settings)
        storedView = view
        return view
    }

    /// Loads the configured URL and serves the page until the task is cancelled, the page is closed, or the page fails.
    ///
    /// Cancelling the task stops the run gracefully: new calls are answered with `drain`, calls in flight receive their
    /// outcomes, nothing more is loaded, and then the page ends. ``PageHandle/close()`` ends the page immediately. In
    /// every case, this method returns once every submitted message has settled and the view is empty.
    ///
    /// - Throws: ``JSBridgeError`` with one of these codes:
    ///   - `alreadyRunning` if another run is active.
    ///   - `pageFailed` if the page failed more than ``WebViewConfiguration/reloads`` times in a row. A failure means
    ///     that the page's process ended, or that the first page could not be loaded.
    public func run(into intake: any Intake) async throws {
        guard host.mailbox.begin() else { throw JSBridgeError.alreadyRunning(source) }
        defer { host.mailbox.end() }
        // A run that is cancelled before it starts sends nothing.
        guard !Task.isCancelled else { return }
        let commands = PageCommands(bound: configuration.navigationsWaiting)
        let run = WebViewRun(host, intake: intake, surface: commands)
        self.commands.withLock { $0 = commands }
        defer { self.commands.withLock { $0 = nil } }
        // This task is unstructured, because it must continue while the run's task is cancelled.
        let service = Task { await servePage(run, commands) }
        let result = await withTaskCancellationHandler {
            await outcome(of: run)
        } onCancel: {
            commands.stop()
        }
        await service.value
        try result.get()
    }

    private func outcome(of run: WebViewRun) async -> Result<Void, JSBridgeError> {
        do throws(JSBridgeError) {
            return .success(try await run.serve())
        } catch {
            return .failure(error)
        }
    }

    @MainActor private func servePage(_ run: WebViewRun, _ commands: PageCommands) async {
        let page = WebViewPage(view, run, commands)
        currentPage = page
        await page.serve()
        currentPage = nil
    }

    // MARK: - Requests from the program

    /// Reloads the most recent page from its server, or the first page if none was loaded. The new request is subject
    /// to the navigation chain.
    ///
    /// This method returns immediately. It has no effect if the engine is not running.
    public func reload() {
        commands.withLock { $0 }?.load(.reload)
    }

    /// Replaces the current page if the navigation chain allows the URL.
    ///
    /// This method returns immediately. It has no effect if the engine is not running.
    public func load(_ url: URLText) {
        commands.withLock { $0 }?.load(.load(url))
    }

    /// Captures an image of the page.
    ///
    /// - Returns: A PNG image (ISO/IEC 15948) with the size of the view in screen pixels.
    /// - Throws: ``JSBridgeError`` `notRunning`, or `snapshotFailed` if WebKit returned no image.
    public func snapshot() async throws(JSBridgeError) -> [UInt8] {
        guard let page = await currentPage else { throw notRunning }
        guard let picture = await page.takeSnapshot() else {
            throw JSBridgeError(.snapshotFailed, "the web view returned no image", source: source)
        }
        return picture
    }

    /// Evaluates a script in the page's own world. For tests and examples that drive a page.
    ///
    /// - Returns: The script's value as text.
    /// - Throws: The error reported by WebKit, or ``JSBridgeError`` `notRunning` if there is no page.
    package func evaluate(_ script: String) async throws -> String {
        guard let page = await currentPage else { throw notRunning }
        return try await page.evaluate(script)
    }

    private var notRunning: JSBridgeError {
        JSBridgeError(.notRunning, "the engine is not running; call run(into:) first", source: source)
    }
}

extension WKWebViewEngine: RestoringAdapter {
    /// Reads stored messages again, with the current limits. The messages have no ``PageHandle``, and the facts that they had
    /// when they arrived.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        PageBatch.restoring(messages, of: source, limits: configuration.limits, at: now)
    }
}
#endif
