#if WebKitGTK
import BrokerKit
import Foundation
import Logging
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

/// A web view under a supervisor, two sites of different origins, and their reports and log lines.
///
/// In the sites' texts, `{home}` and `{other}` stand for their origins.
struct WebTrial: Sendable {
    static let source: SourceName = "web"

    let home: WebSite
    let other: WebSite
    let supervisor: Supervisor
    let engine: WebKitGTKEngine
    /// The values that pages passed to `report`, as JSON, in order.
    let reports: EventList<String>
    let log: EventList<String>
    /// Whether each verdict was reported on the library's thread, which a slow observer would block.
    let toldOnThread: EventList<Bool>
    /// Each verdict as `policy kind frame text`, with placeholders for the sites' origins.
    let verdicts: EventList<String>
    private let window: WindowLimits

    /// - Parameters:
    ///   - home: The answers, by path, of the site whose pages have the bridge. `/` is loaded first.
    ///   - other: The answers of the other site.
    ///   - chain: The navigation chain, which allows everything by default.
    ///   - build: Changes the page's configuration.
    ///   - configure: Changes the engine's configuration.
    init(
        home: [String: WebSite.Answer],
        other: [String: WebSite.Answer] = [:],
        chain: NavigationRouter? = nil,
        sandbox: WebKitGTKSandbox = .whereAllowed,
        window: WindowLimits = WindowLimits(),
        build: (inout BridgeConfigurator) -> Void = { _ in },
        configure: (inout WebViewConfiguration) -> Void = { _ in },
        supervise: (inout SupervisorConfiguration) -> Void = { _ in }
    ) throws {
        let sites = (home: try WebSite(), other: try WebSite())
        (self.home, self.other) = sites
        let (log, reports, verdicts) = (EventList<String>(), EventList<String>(), EventList<String>())
        (self.log, self.reports, self.verdicts) = (log, reports, verdicts)
        let toldOnThread = EventList<Bool>()
        self.toldOnThread = toldOnThread
        self.window = window
        for (path, answer) in home { sites.home.set(path, answer.resolved(for: sites.home, sites.other)) }
        for (path, answer) in other { sites.other.set(path, answer.resolved(for: sites.home, sites.other)) }
        let logger = Logger(label: "web") { _ in RecordingLog(log) }
        var configurator = BridgeConfigurator()
        configurator.set(navigation: try chain ?? NavigationRouter([], fallback: .allow("a test")))
        build(&configurator)
        let page = try configurator.build(url: URLText("\(sites.home.origin)/"))
        var configuration = WebViewConfiguration(source: WebTrial.source, page: page)
        configuration.unresponsiveLimit = .seconds(300)
        configuration.navigationDeadline = .seconds(600)
        configuration.reloadCap = .milliseconds(1)
        configuration.gracefulCloseTimeout = .seconds(600)
        configure(&configuration)
        engine = try WebKitGTKEngine(configuration, sandbox: sandbox, logger: logger) { request, verdict in
            toldOnThread.append(GLibThread.isCurrent)
            let text = verdict.text.replacing(sites.home.origin, with: "{home}")
            let named = text.replacing(sites.other.origin, with: "{other}")
            let what = request.map { "\($0.kind) \($0.frame)" } ?? "unread"
            verdicts.append("\(verdict.policy) \(what) \(named)")
        }
        var supervision = SupervisorConfiguration.patient
        supervise(&supervision)
        supervisor = Supervisor(configuration: supervision, logger: logger)
        try supervisor.register(
            Registration("report", as: RawBody.self, from: .script(origin: WebOrigin(sites.home.origin))) { body, _ in
                reports.append(body.bytes.text ?? "not text")
            }
        )
    }

    /// Returns a page of the home site. `report(value)` reports, and `code(error)` returns an error's code.
    static func page(_ script: String, _ rest: String = "", headers: [String: String] = [:]) -> WebSite.Answer {
        let prelude = "const report = (value) => signalbox.call('report', value), code = (error) => error.code;"
        return .html(
            "<!doctype html><meta charset=utf-8><title>home</title>\(rest)<script>\(prelude)\n\(script)</script>",
            headers: headers
        )
    }

    /// Runs the page and the supervisor while `body` works, then drains them.
    func run(_ body: () async throws -> Void) async throws {
        defer {
            home.close()
            other.close()
        }
        try supervisor.add(engine, window: window)
        try await supervisor.whileItLasts(body)
    }

    /// Runs until the page ends by itself.
    func untilEnd() async throws {
        defer {
            home.close()
            other.close()
        }
        try supervisor.add(engine, window: window)
        try await supervisor.run()
    }

    /// Waits for a log line that contains the text.
    @discardableResult
    func waitForLog(_ text: String) async -> String {
        await log.line(containing: text)
    }

    /// Waits for a verdict that contains the text.
    @discardableResult
    func waitForVerdict(_ text: String) async -> String {
        await verdicts.line(containing: text)
    }
}

extension WebSite.Answer {
    func resolved(for home: WebSite, _ other: WebSite) -> WebSite.Answer {
        changed { $0.replacing("{home}", with: home.origin).replacing("{other}", with: other.origin) }
    }
}

/// Tests of pages in real web views. They run one at a time, because each view starts a process.
@Suite(.serialized, .enabled { await TestDisplay.opens() }, .timeLimit(.minutes(10)))
struct WebKitGTKTests {}

/// The display for tests of web views. Without one, these tests are skipped. If SIGNALBOX_NEEDS_DISPLAY is set, a test
/// then fails.
enum TestDisplay {
    static let isNeeded = ProcessInfo.processInfo.environment["SIGNALBOX_NEEDS_DISPLAY"]?.isEmpty == false
    private static let skipping: Void = print(
        "The tests of WebKitGTK are skipped: there is no display. Run them by xvfb-run -a."
    )

    /// Returns whether there is a display.
    static func opens() async -> Bool {
        do {
            try await GLibThread.begin()
            return true
        } catch {
            skipping
            return false
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct NoDisplayTests {
    @Test func withoutADisplayTheRunFailsWithARemedy() async {
        await #expect(processExitsWith: .success) {
            unsetenv("DISPLAY")
            unsetenv("WAYLAND_DISPLAY")
            setenv("XDG_RUNTIME_DIR", "/nowhere", 1)
            let page = try BridgeConfigurator().build(url: URLText("http://127.0.0.1/"))
            let engine = try WebKitGTKEngine(
                WebViewConfiguration(source: "web", page: page),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            // A second run is possible after the error.
            for _ in 0..<2 {
                do {
                    try await engine.run(into: RecordingIntake())
                    exit(2)
                } catch let error as JSBridgeError {
                    guard error.code == .noDisplay, error.detail.contains("xvfb-run -a") else { exit(3) }
                }
            }
        }
    }

    @Test(.enabled(if: TestDisplay.isNeeded)) func aRequiredDisplayIsAvailable() async {
        #expect(await TestDisplay.opens())
    }

    @Test func anInvalidConfigurationIsRefusedBeforeAViewExists() throws {
        let page = try BridgeConfigurator().build(url: URLText("http://127.0.0.1/"))
        var configuration = WebViewConfiguration(source: "web", page: page)
        configuration.display = .offscreen(width: 0, height: 1)
        let error = #expect(throws: JSBridgeError.self) {
            try WebKitGTKEngine(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
        #expect(error?.code == .invalidConfiguration)
    }
}

/// The page processes that this process has started, sandboxed or not.
enum WebProcesses {
    private static let name = "WebKitWebProces"
    private static let sandbox = "bwrap"

    static func ofThisTest() -> [Int32] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let found = all.compactMap(Int32.init).compactMap { id in read(id).map { (id, $0) } }
        let processes = Dictionary(uniqueKeysWithValues: found)
        return processes.keys.filter { processes[$0]?.name == name && isStartedHere($0, processes) }
    }

    static func kill(_ process: Int32) {
        _ = Foundation.kill(process, SIGKILL)
    }

    static func untilAllHaveEnded() async {
        while !Task.isCancelled, !ofThisTest().isEmpty { await Task.yield() }
    }

    /// Returns whether only the sandbox is between the processes. Other tests start programs with pages.
    private static func isStartedHere(_ process: Int32, _ processes: [Int32: (name: String, parent: Int32)]) -> Bool {
        var next = processes[process]?.parent
        for _ in 0..<20 {
            guard let id = next else { return false }
            if id == getpid() { return true }
            guard let between = processes[id], between.name == sandbox else { return false }
            next = between.parent
        }
        return false
    }

    /// Returns `nil` for a process that has ended, even if its parent has not waited for it.
    private static func read(_ process: Int32) -> (name: String, parent: Int32)? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")")
        else { return nil }
        let rest = text[text.index(after: close)...].split(separator: " ")
        guard rest.count > 1, rest[0] != "Z", let parent = Int32(rest[1]) else { return nil }
        return (String(text[text.index(after: open)..<close]), parent)
    }
}

extension OpenObjects {
    /// Waits until the library has released all objects.
    static func untilAllAreReleased() async {
        while OpenObjects.now != OpenObjects(), !Task.isCancelled { await Task.yield() }
    }
}
#endif
