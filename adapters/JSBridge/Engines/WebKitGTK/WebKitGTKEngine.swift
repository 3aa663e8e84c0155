#if WebKitGTK
import AdapterThreads
public import Logging
public import NavigationChain
public import SignalboxCore
public import SignalboxRoutes
import Synchronization

/// A page in a web view of WebKitGTK: a window, or off-screen.
///
/// The origins of the configuration's page get the bridge: their calls come with the origin and are answered with their
/// outcome. Everything else that reaches a handler - from a frame, from a page of another origin - comes with the origin
/// unknown, which no rule allows that names one. What may be loaded, the configuration's chain decides.
///
/// All views of a process live on one thread, which the first of them begins; a program that runs GTK itself can have none.
/// Each run has its own storage, which is gone at its end, and its own web process. When the connection to the display is
/// lost, GTK ends the program.
public final class WebKitGTKEngine: Adapter {
    /// Hears of each URL that was asked about, on the task that asked; there is no request where the text is no URL. It must
    /// not block.
    public typealias NavigationObserver = @Sendable (NavigationRequest?, NavigationVerdict) -> Void

    /// What the engine was made with.
    public let configuration: WebViewConfiguration
    /// Whether the page's process is shut in.
    public let sandbox: WebKitGTKSandbox
    /// The page, the same for all runs. What is sent while none runs waits for the next, bounded; after
    /// ``PageHandle/close()`` nothing is taken until the next run begins.
    public let page: PageHandle
    private let mailbox: PageMailbox
    private let counters = WebViewCounters()
    private let logger: Logger
    private let log: AdapterLog
    private let navigations: NavigationObserver?
    private let current = Mutex<WebKitPage?>(nil)
    /// The page of the run, when there is one.
    var running: WebKitPage? { current.withLock { $0 } }

    /// - Parameters:
    ///   - configuration: checked here.
    ///   - sandbox: whether the page's process is shut in.
    ///   - logger: hears of script errors, of processes that end, of what a page wanted and did not get.
    ///   - navigations: hears of each URL that was asked about.
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`.
    public init(
        _ configuration: WebViewConfiguration,
        sandbox: WebKitGTKSandbox = .whereAllowed,
        logger: Logger,
        navigations: NavigationObserver? = nil
    ) throws(JSBridgeError) {
        try configuration.validate()
        self.configuration = configuration
        self.sandbox = sandbox
        self.logger = logger
        self.navigations = navigations
        log = AdapterLog(logger, source: configuration.source)
        mailbox = PageMailbox(
            title: configuration.page.title,
            bound: configuration.messagesToPage,
            limits: configuration.limits
        )
        page = PageHandle(port: mailbox)
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Every call is answered, the program can send unasked, and URLs are asked about before they are loaded.
    public var features: AdapterFeatures { [.replies, .pushes, .navigates] }

    /// How many errors of the page's scripts nobody caught, since the engine was made.
    public var scriptErrors: Int { counters.value.scriptErrors }

    /// What there was to count since the engine was made.
    public var counts: WebViewCounts { counters.value }

    /// Shows the page until its task is cancelled, the page or its window is closed, or the page fails too often.
    ///
    /// Each run is a new view. Cancellation is the graceful stop: calls made from then on are answered `drain`, or `closed`
    /// once nothing is in flight, those in flight get their outcome, nothing more is loaded, then the page ends. ``PageHandle/close()`` ends it at once. In each
    /// case it returns when everything submitted is settled.
    ///
    /// - Throws: ``JSBridgeError`` `alreadyRunning`; `noDisplay`; `noSandbox`; `noResources` when the system gives no thread,
    ///   or another part of the program runs GTK; `pageFailed` when the page's process ended, or its first page could not
    ///   be loaded, more often in a row than ``WebViewConfiguration/reloads``.
    public func run(into intake: any Intake) async throws {
        guard mailbox.begin() else {
            throw JSBridgeError(.alreadyRunning, "the engine runs already; one engine is one page", source: source)
        }
        defer { mailbox.end() }
        // A page that is not wanted any more sends nothing.
        guard !Task.isCancelled else { return }
        try await openDisplay()
        let page = await WebKitPage(try await parts())
        let run = WebViewRun(
            WebViewRun.Parts(
                configuration: configuration,
                engine: "WebKitGTK",
                mailbox: mailbox,
                handle: self.page,
                intake: intake,
                surface: page,
                counters: counters,
                logger: logger
            )
        )
        await page.begin(run)
        current.withLock { $0 = page }
        defer { current.withLock { $0 = nil } }
        let gate = NavigationGate(configuration, counters: counters, observer: navigations)
        async let navigation: Void = page.answerQuestions(gate)
        try await run.serve()
        await navigation
    }

    private func openDisplay() async throws(JSBridgeError) {
        do throws(GLibThread.Fault) {
            try await GLibThread.begin()
        } catch {
            switch error {
            case .noThread:
                throw JSBridgeError(.noResources, "the system gives no thread", source: source)
            case .contextTaken:
                let detail = "another part of the program runs GLib's main loop; a web view needs it for itself"
                throw JSBridgeError(.noResources, detail, source: source)
            case .noDisplay:
                let detail =
                    "there is no display: run the program in a graphical session, or with one in memory: "
                    + "xvfb-run -a PROGRAM"
                throw JSBridgeError(.noDisplay, detail, source: source)
            }
        }
    }

    private func parts() async throws(JSBridgeError) -> WebKitPage.Parts {
        WebKitPage.Parts(
            configuration: configuration,
            settings: WebKitView.Settings(
                display: configuration.display,
                scripts: WebViewScripts(configuration),
                userAgentSuffix: configuration.page.userAgentSuffix,
                isSandboxed: try await isSandboxed()
            ),
            handle: page,
            counters: counters,
            log: log
        )
    }

    private func isSandboxed() async throws(JSBridgeError) -> Bool {
        guard sandbox != .off else {
            log.tell(.warning, "the page's process is not shut in, as the program asks for: show trusted pages only")
            return false
        }
        guard let fault = await SandboxProbe.fault() else { return true }
        guard sandbox == .whereAllowed else {
            let detail = "the page's process cannot be shut in: \(fault)"
            throw JSBridgeError(.noSandbox, detail, source: source)
        }
        log.tell(
            .warning,
            "THE PAGE'S PROCESS IS NOT SHUT IN: \(fault). A page that takes it over can do what this user can"
        )
        return false
    }
}

extension WebKitGTKEngine {
    /// Loads the page that is shown, or was last, from its server, by a new request; nothing happens while none runs. About
    /// its URL is asked as about every other. Returns at once.
    public func reload() {
        guard let page = running else { return }
        GLibThread.post { page.reload() }
    }

    /// Loads another page in place of the one that is shown, if the chain allows it; nothing happens while none runs.
    /// Returns at once.
    public func load(_ url: URLText) {
        guard let page = running else { return }
        GLibThread.post { page.load(url.text) }
    }

    /// A picture of what the page shows now.
    ///
    /// - Returns: a PNG (ISO/IEC 15948) of the display's size.
    /// - Throws: ``JSBridgeError`` `notRunning`; `snapshotFailed` when the library gave none, or the run ended first.
    public func snapshot() async throws(JSBridgeError) -> [UInt8] {
        guard let page = running else {
            throw JSBridgeError(.notRunning, "a picture is taken of a page that runs", source: source)
        }
        guard let picture = await page.takeSnapshot() else {
            throw JSBridgeError(.snapshotFailed, "the library gave no picture, or the page has gone", source: source)
        }
        return picture
    }

    /// Evaluates a script in the page's own world: for tests and examples that drive a page.
    ///
    /// - Returns: its value as text.
    /// - Throws: what it threw, in words; an error when no page runs.
    package func evaluate(_ script: String) async throws -> String {
        guard let page = running else {
            throw JSBridgeError(.notRunning, "a script is evaluated in a page that runs", source: source)
        }
        return try await page.evaluate(script).get()
    }
}

extension WebKitPage {
    fileprivate func takeSnapshot() async -> [UInt8]? {
        await wait(ended: nil) { view, end in view.takeSnapshot(end) }
    }

    fileprivate func evaluate(_ script: String) async -> Result<String, ScriptFault> {
        await wait(ended: .failure(ScriptFault(description: "the page has gone"))) { view, end in
            view.evaluate(script, world: nil, end)
        }
    }
}
#endif
