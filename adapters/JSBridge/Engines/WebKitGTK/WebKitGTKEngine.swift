#if WebKitGTK
import AdapterSupport
public import Logging
public import NavigationChain
public import SignalboxCore
public import SignalboxRoutes
import Synchronization

/// Runs a page in a WebKitGTK web view, in a window or off-screen.
///
/// ```swift
/// let page = try BridgeConfigurator().build(url: URLText("https://shop.example/"))
/// let engine = try WebKitGTKEngine(WebViewConfiguration(source: "shop", page: page), logger: logger)
/// try supervisor.add(engine)
/// ```
///
/// Pages from the configured origins have the bridge. Calls through the bridge have an origin and are answered with
/// their outcome. Any other handler call, such as one from a frame or from a page of a different origin, has an unknown
/// origin and is never allowed by a rule that names an origin. The configured chain decides which URLs load.
///
/// All views in a process share one thread, which starts with the first view. A program that runs GTK itself therefore
/// cannot have a view. Each run has its own web process and its own storage, and the storage is deleted when the run
/// ends. GTK ends the program if the connection to the display is lost.
public final class WebKitGTKEngine: Adapter {
    /// A closure that observes navigation requests.
    ///
    /// The observer is called on the task that requests the verdict, so it must not block. The request is `nil` if the
    /// text is not a URL.
    public typealias NavigationObserver = @Sendable (NavigationRequest?, NavigationVerdict) -> Void

    /// The engine's configuration.
    public var configuration: WebViewConfiguration { host.configuration }
    /// How the page's process is sandboxed.
    public let sandbox: WebKitGTKSandbox
    /// The page, which stays the same across runs.
    ///
    /// Messages that the program sends between runs wait in a bounded queue for the next run. After
    /// ``PageHandle/close()``, the page refuses messages until the next run begins.
    public var page: PageHandle { host.page }
    private let host: WebViewHost
    private let current = Mutex<WebKitPage?>(nil)
    /// The current run's page, if any.
    var running: WebKitPage? { current.withLock { $0 } }

    /// Creates an engine and validates its configuration.
    ///
    /// - Parameters:
    ///   - configuration: The page and its limits.
    ///   - sandbox: How to sandbox the page's process.
    ///   - logger: The logger for the page's script errors, process failures and refused requests.
    ///   - navigations: A closure that observes each navigation request.
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`.
    public init(
        _ configuration: WebViewConfiguration,
        sandbox: WebKitGTKSandbox = .whereAllowed,
        logger: Logger,
        navigations: NavigationObserver? = nil
    ) throws(JSBridgeError) {
        host = try WebViewHost(configuration, engine: "WebKitGTK", logger: logger, navigations: navigations)
        self.sandbox = sandbox
    }

    /// The source name from the configuration.
    public var source: SourceName { configuration.source }

    /// The engine replies to every call, delivers messages that the program pushes, and asks for a verdict before a URL
    /// loads.
    public var features: AdapterFeatures { [.replies, .pushes, .navigates] }

    /// The number of uncaught errors in the page's scripts since the engine was created.
    public var scriptErrors: Int { host.counters.value.scriptErrors }

    /// The failures counted since the engine was created.
    public var counts: WebViewCounts { host.counters.value }

    /// Shows the page until the task is cancelled, the page or its window is closed, or the page fails too often.
    ///
    /// Each run creates a new view. Cancelling the task stops the run gracefully: new calls are answered with `drain`,
    /// or with `closed` once nothing is in flight. Calls in flight receive their outcomes, nothing more is loaded, and
    /// then the page ends. ``PageHandle/close()`` ends the page immediately. In every case, this method returns once
    /// every submitted message has settled.
    ///
    /// - Throws: ``JSBridgeError`` with one of these codes:
    ///   - `alreadyRunning`, `noDisplay` or `noSandbox`.
    ///   - `noResources` if the system has no thread left or another part of the program runs GTK.
    ///   - `pageFailed` if the page failed more than ``WebViewConfiguration/reloads`` times in a row. A failure means
    ///     that the page's process ended, or that the first page could not be loaded.
    public func run(into intake: any Intake) async throws {
        guard host.mailbox.begin() else { throw JSBridgeError.alreadyRunning(source) }
        defer { host.mailbox.end() }
        // A run that is cancelled before it starts sends nothing.
        guard !Task.isCancelled else { return }
        do throws(GLibThread.StartError) {
            try await GLibThread.begin()
        } catch {
            throw JSBridgeError(error.code, error.detail, source: source)
        }
        let page = await WebKitPage(host, isSandboxed: try await isSandboxed())
        let run = WebViewRun(host, intake: intake, surface: page)
        await page.begin(run)
        current.withLock { $0 = page }
        defer { current.withLock { $0 = nil } }
        async let navigation: Void = page.answerPolicyRequests()
        try await run.serve()
        await navigation
    }

    private func isSandboxed() async throws(JSBridgeError) -> Bool {
        guard sandbox != .off else {
            host.log.write(.warning, "the page's process is not sandboxed, as configured: show only trusted pages")
            return false
        }
        guard let problem = await SandboxProbe.problem() else { return true }
        guard sandbox == .whereAllowed else {
            let detail = "the page's process cannot be sandboxed: \(problem)"
            throw JSBridgeError(.noSandbox, detail, source: source)
        }
        host.log.write(
            .warning,
            "THE PAGE'S PROCESS IS NOT SANDBOXED: \(problem). A page that compromises it has this user's rights"
        )
        return false
    }
}

extension WebKitGTKEngine {
    /// Reloads the most recent page from its server, or the first page if none was loaded. The new request is subject
    /// to the navigation chain.
    ///
    /// This method returns immediately. It has no effect if the engine is not running.
    public func reload() {
        guard let page = running else { return }
        GLibThread.post { page.reload() }
    }

    /// Replaces the current page if the navigation chain allows the URL.
    ///
    /// This method returns immediately. It has no effect if the engine is not running.
    public func load(_ url: URLText) {
        guard let page = running else { return }
        GLibThread.post { page.load(url.text) }
    }

    /// Captures an image of the page.
    ///
    /// - Returns: A PNG image (ISO/IEC 15948) with the size of the display.
    /// - Throws: ``JSBridgeError`` `notRunning`, or `snapshotFailed` if there is no image or the run ends first.
    public func snapshot() async throws(JSBridgeError) -> [UInt8] {
        guard let page = running else {
            throw JSBridgeError(.notRunning, "no page is running; call run(into:) before snapshot()", source: source)
        }
        guard let picture = await page.takeSnapshot() else {
            throw JSBridgeError(.snapshotFailed, "the library returned no image, or the page has ended", source: source)
        }
        return picture
    }

    /// Evaluates a script in the page's own world. For tests and examples that drive a page.
    ///
    /// - Returns: The script's value as text.
    /// - Throws: The script's error as text, or ``JSBridgeError`` `notRunning` if there is no page.
    package func evaluate(_ script: String) async throws -> String {
        guard let page = running else {
            throw JSBridgeError(.notRunning, "no page is running; call run(into:) before evaluate(_:)", source: source)
        }
        return try await page.evaluate(script).get()
    }
}

extension WebKitPage {
    fileprivate func takeSnapshot() async -> [UInt8]? {
        await wait(ended: nil) { view, end in view.takeSnapshot(end) }
    }

    fileprivate func evaluate(_ script: String) async -> Result<String, ScriptError> {
        await wait(ended: .failure(ScriptError(description: "the page has ended"))) { view, end in
            view.evaluate(script, world: nil, end)
        }
    }
}

extension WebKitGTKEngine: RestoringAdapter {
    /// Reads stored messages again, with the current limits. The messages have no ``PageHandle``, and the facts that they had
    /// when they arrived.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        PageBatch.restoring(messages, of: source, limits: configuration.limits, at: now)
    }
}
#endif
