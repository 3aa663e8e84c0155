import BrokerKit
import BrowserBridge
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

/// Pages in browsers under a supervisor, with their reports and log lines.
struct BrowserTrial: Sendable {
    static let source: SourceName = "browser"

    let supervisor: Supervisor
    let engine: BrowserEngine
    /// The values that pages passed to `report`, as JSON, in order.
    let reports: EventList<String>
    /// The log lines of the engine and the supervisor.
    let log: EventList<String>
    private let window: WindowLimits

    /// - Parameters:
    ///   - script: The script of the page at `/`, which reports with `report(value)`.
    ///   - configure: Changes the engine's configuration.
    init(
        _ script: String = "",
        configure: (inout BrowserConfiguration) -> Void = { _ in },
        window: WindowLimits = WindowLimits(),
        supervise: (inout SupervisorConfiguration) -> Void = { _ in }
    ) throws {
        let (log, reports) = (EventList<String>(), EventList<String>())
        let logger = Logger(label: "browser") { _ in RecordingLog(log) }
        var configuration = BrowserConfiguration(
            source: BrowserTrial.source,
            documents: [
                "/": .page("<!doctype html><title>one</title><script src=/page.js></script><body>hello"),
                "/page.js": .script("const report = (value) => signalbox.call('report', value);\n" + script),
            ]
        )
        // On a busy machine, a page connects late.
        configuration.connectionTimeout = .seconds(300)
        configure(&configuration)
        var supervision = SupervisorConfiguration.patient
        supervise(&supervision)
        supervisor = Supervisor(configuration: supervision, logger: logger)
        engine = try BrowserEngine(configuration, logger: logger)
        self.reports = reports
        self.log = log
        self.window = window
        try supervisor.register(
            Registration("report", as: RawBody.self, from: .source(BrowserTrial.source)) { body, _ in
                reports.append(body.bytes.text ?? "not text")
            }
        )
    }

    /// Runs the engine and the supervisor while `body` works, then drains them.
    func run(_ body: () async throws -> Void) async throws {
        try supervisor.add(engine, window: window)
        try await supervisor.whileRunning(body)
    }

    /// Returns the address of a page of the running engine.
    func url(_ path: String = "/") async throws -> String {
        guard let url = try await engine.url(path) else { throw NeverListened() }
        return url
    }

    /// Returns the port of the running engine.
    func port() async throws -> UInt16 {
        guard let port = await engine.port() else { throw NeverListened() }
        return port
    }

    /// Waits for a log line that contains the text.
    @discardableResult
    func waitForLog(_ text: String) async -> String {
        await log.line(containing: text)
    }
}

struct NeverListened: Error {}

/// The body that the plugins of these tests decode.
struct Payment: Codable, Sendable, Hashable {
    let amount: Int
    let currency: String
}

/// Tests in real browsers. They run one after another, because each starts a browser.
@Suite(.serialized, .timeLimit(.minutes(10))) enum InChromium {}

/// A site whose pages may connect, and one whose pages may not.
struct TwoSites: Sendable {
    let friend: WebSite
    let stranger: WebSite
    /// The friend's origin, for a configuration to allow.
    let friendly: WebOrigin

    init() throws {
        friend = try WebSite()
        stranger = try WebSite()
        friendly = try WebOrigin(friend.origin)
    }

    func close() {
        friend.close()
        stranger.close()
    }
}
