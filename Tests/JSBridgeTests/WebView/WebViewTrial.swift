import Logging
import NavigationChain
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import JSBridge

/// A run of a web view with a fake view, its intake, and their reports.
struct WebViewTrial: Sendable {
    let configuration: WebViewConfiguration
    let view: FakeView
    let run: WebViewRun
    var page: PageHandle { host.page }
    var mailbox: PageMailbox { host.mailbox }
    private let host: WebViewHost
    var counters: PageCounters { host.counters }
    /// The log lines.
    let log = EventList<String>()
    private let surface = FakeSurface()
    private let intake: any Intake

    init(
        _ intake: any Intake,
        isWebKitFixed: Bool = false,
        gracefulCloseTimeout: Duration = .seconds(600),
        configuration: WebViewConfiguration? = nil,
        configure: (inout WebViewConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = try configuration ?? .testing()
        configuration.gracefulCloseTimeout = gracefulCloseTimeout
        configure(&configuration)
        self.configuration = configuration
        self.intake = intake
        view = FakeView(configuration, isWebKitFixed: isWebKitFixed)
        let logger = Logger(label: "page") { [log] _ in RecordingLog(log) }
        host = try WebViewHost(configuration, engine: "Test", logger: logger)
        run = WebViewRun(host, intake: intake, surface: surface)
    }

    /// The page's reports.
    var reports: EventList<String> { view.reports }

    /// Runs the page while `body` works, then closes it and waits until the run has returned.
    ///
    /// - Parameter script: The first script of the page.
    func whileRunning(_ script: String = "", _ body: () async throws -> Void) async throws {
        #expect(mailbox.begin())
        defer { mailbox.end() }
        let viewing = startView()
        async let serving: Void = run.serve()
        do {
            try await load(script)
            try await body()
        } catch {
            closeAndSettle()
            throw error
        }
        closeAndSettle()
        try await serving
        await viewing.value
    }

    /// Runs the page until it ends. `body` must end it.
    func untilEnd(_ script: String = "", _ body: @escaping @Sendable () async throws -> Void) async throws {
        #expect(mailbox.begin())
        defer { mailbox.end() }
        let viewing = startView()
        async let serving: Void = run.serve()
        async let working: Void = body()
        do {
            try await load(script)
            try await working
        } catch {
            closeAndSettle()
            throw error
        }
        try await serving
        await viewing.value
    }

    /// Closes the page and settles its arrivals, because the run waits for every outcome.
    private func closeAndSettle() {
        run.close()
        (intake as? RecordingIntake)?.settleAll()
    }

    /// Starts the view outside the caller's task. Like an engine's thread, it continues when that task is cancelled.
    private func startView() -> Task<Void, Never> {
        Task { [view, run, surface] in await view.serve(run, surface) }
    }

    /// Waits until the document may send messages.
    func untilGranted() async throws {
        try await evaluate("signalbox.on('test.granted', () => {});")
        try await page.call("test.granted", 1, timeout: .seconds(600))
    }

    func load(
        _ script: String = "",
        origin: String = "https://app.example",
        isOpaque: Bool = false
    ) async throws {
        try await view.load(origin, isOpaque: isOpaque, run: run)
        if !script.isEmpty { try await view.evaluate(script: script) }
    }

    func evaluate(_ script: String) async throws {
        try await view.evaluate(script: script)
    }
}

extension WebViewConfiguration {
    /// Returns a configuration for pages of `https://app.example` and `https://other.example:8443`, with the handlers
    /// `page` and `user`. The latter calls the action `greet`.
    static func testing(
        router: NavigationRouter? = nil,
        title: String? = nil,
        overridesTitle: Bool = false,
        disablesZoom: Bool = false
    ) throws -> WebViewConfiguration {
        let page = BridgeConfiguration(
            url: try URLText("https://app.example/"),
            navigation: try router ?? NavigationRouter([], fallback: .allow("a test")),
            origins: [try WebOrigin("https://app.example"), try WebOrigin("https://other.example:8443")],
            handlers: [BridgeHandler("page"), BridgeHandler("user", action: "greet")],
            disablesZoom: disablesZoom,
            overridesTitle: overridesTitle,
            title: title,
            userAgentSuffix: nil
        )
        return WebViewConfiguration(source: "page", page: page)
    }
}
