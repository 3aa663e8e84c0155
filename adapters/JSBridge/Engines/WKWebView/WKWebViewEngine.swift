#if canImport(WebKit)
import AdapterThreads
import Foundation
public import Logging
public import NavigationChain
public import SignalboxCore
public import SignalboxRoutes
import Synchronization
public import WebKit

/// A page in a `WKWebView`, on Apple platforms: what `WebKitGTKEngine` is on Linux, for the same pages.
///
/// The view lives on the main actor, which must not be held up: a command-line program runs a main loop. Trusted messages come
/// only through a script world of their own, from the main frame, when the origin that the script says is the frame's; a call of
/// a handler by any other way has an unknown origin, and a rule that does not name such calls refuses it.
///
/// Compiled on Linux against a stand-in for WebKit, and not run anywhere yet: `docs/wkwebview.md` says what that proves.
public final class WKWebViewEngine: Adapter {
    /// Hears of each URL that was asked about, on the task that asked; there is no request where the text is no URL. It must
    /// not block.
    public typealias NavigationObserver = @Sendable (NavigationRequest?, NavigationVerdict) -> Void

    /// What the engine was made with.
    public let configuration: WebViewConfiguration
    /// The page, the same for all runs. What is sent while no page with the bridge is there waits for the next, bounded.
    public let page: PageHandle
    private let mailbox: PageMailbox
    private let gate: NavigationGate
    private let counters = WebViewCounters()
    private let logger: Logger
    /// Those of the run.
    private let wishes = Mutex<PageWishes?>(nil)
    @MainActor private var made: WKWebView?
    @MainActor private var shown: WebViewPage?

    /// - Parameters:
    ///   - configuration: checked here.
    ///   - logger: hears of script errors, of failures of the page, and of what was dropped.
    ///   - navigations: hears of each URL that was asked about.
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`.
    public init(
        _ configuration: WebViewConfiguration,
        logger: Logger,
        navigations: NavigationObserver? = nil
    ) throws(JSBridgeError) {
        try configuration.validate()
        self.configuration = configuration
        self.logger = logger
        mailbox = PageMailbox(
            title: configuration.page.title,
            bound: configuration.messagesToPage,
            limits: configuration.limits
        )
        page = PageHandle(port: mailbox)
        gate = NavigationGate(configuration, counters: counters, observer: navigations)
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Every call is answered, the program can send unasked, and each navigation is asked about.
    public var features: AdapterFeatures { [.replies, .pushes, .navigates] }

    /// What the engine had to count since it was made.
    public var counts: WebViewCounts { counters.value }

    /// How many errors of scripts nobody caught, since the engine was made.
    public var scriptErrors: Int { counters.value.scriptErrors }

    /// The view, the same for all runs, of the size that the configuration says, and shown nowhere: put it where it is to be
    /// seen. Its delegates and its content controller are the engine's while it runs. What its pages store is kept in memory, as
    /// long as the engine.
    @MainActor public var view: WKWebView {
        if let made { return made }
        let (width, height) =
            switch configuration.display {
            case .offscreen(let width, let height), .window(let width, let height): (width, height)
            }
        let settings = WKWebViewConfiguration()
        settings.websiteDataStore = .nonPersistent()
        if let suffix = configuration.page.userAgentSuffix { settings.applicationNameForUserAgent = suffix }
        let view = WKWebView(frame: CGRect(x: 0, y: 0, width: width, height: height), configuration: settings)
        made = view
        return view
    }

    /// Loads the configuration's URL and serves the page until its task is cancelled, the page is closed, or it fails.
    ///
    /// Cancellation is the graceful stop: calls made from then on are answered `drain`, those in flight get their outcome, nothing
    /// more is loaded, then the page ends. ``PageHandle/close()`` ends it at once. In each case it returns when everything submitted is settled; the
    /// view is then empty.
    ///
    /// - Throws: ``JSBridgeError`` `alreadyRunning`; `pageFailed` when the page's process ended, or its first page could not be
    ///   loaded, more often in a row than ``WebViewConfiguration/reloads``.
    public func run(into intake: any Intake) async throws {
        guard mailbox.begin() else {
            throw JSBridgeError(.alreadyRunning, "the engine runs already; one engine is one page", source: source)
        }
        defer { mailbox.end() }
        // A page that is not wanted any more sends nothing.
        guard !Task.isCancelled else { return }
        let wishes = PageWishes(bound: configuration.navigationsWaiting)
        let run = WebViewRun(
            WebViewRun.Parts(
                configuration: configuration,
                engine: "WKWebView",
                mailbox: mailbox,
                handle: page,
                intake: intake,
                surface: wishes,
                counters: counters,
                logger: logger
            )
        )
        self.wishes.withLock { $0 = wishes }
        defer { self.wishes.withLock { $0 = nil } }
        // Not a part of this task: it works while this one is cancelled, too.
        let service = Task { await show(run, wishes) }
        let result = await withTaskCancellationHandler {
            await outcome(of: run)
        } onCancel: {
            wishes.stop()
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

    @MainActor private func show(_ run: WebViewRun, _ wishes: PageWishes) async {
        let page = WebViewPage(
            WebViewPage.Parts(
                view: view,
                run: run,
                wishes: wishes,
                gate: gate,
                configuration: configuration,
                counters: counters,
                log: AdapterLog(logger, source: source)
            )
        )
        shown = page
        await page.serve()
        shown = nil
    }

    // MARK: - What the program asks for

    /// Loads the page that is shown, or was last, from its server, by a new request; nothing happens while none runs. About its
    /// URL is asked as about every other. Returns at once.
    public func reload() {
        wishes.withLock { $0 }?.load(.reload)
    }

    /// Loads another page in place of the one that is shown, if the chain allows it; nothing happens while none runs. Returns at
    /// once.
    public func load(_ url: URLText) {
        wishes.withLock { $0 }?.load(.load(url))
    }

    /// A picture of what the page shows now.
    ///
    /// - Returns: a PNG (ISO/IEC 15948) of the view's size, in the pixels of its screen.
    /// - Throws: ``JSBridgeError`` `notRunning`; `snapshotFailed` when WebKit gave none.
    public func snapshot() async throws(JSBridgeError) -> [UInt8] {
        guard let page = await shown else { throw notRunning }
        guard let picture = await page.picture() else {
            throw JSBridgeError(.snapshotFailed, "the web view gave no picture of the page", source: source)
        }
        return picture
    }

    /// Evaluates a script in the page's own world: for tests and examples that drive a page.
    ///
    /// - Returns: its value as text.
    /// - Throws: what WebKit says of its error; an error when no page runs.
    package func evaluate(_ script: String) async throws -> String {
        guard let page = await shown else { throw notRunning }
        return try await page.evaluate(script)
    }

    private var notRunning: JSBridgeError {
        JSBridgeError(.notRunning, "the engine shows no page; call run(into:) first", source: source)
    }
}
#endif
