import BrokerKit
import BrowserBridge
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

/// Pages in browsers under a supervisor, what they report, and what is logged.
struct BrowserTrial: Sendable {
    static let source: SourceName = "browser"

    let supervisor: Supervisor
    let engine: BrowserEngine
    /// What pages gave to `report`, as JSON, in order.
    let reports: EventList<String>
    /// The log lines of engine and supervisor.
    let log: EventList<String>
    private let window: WindowLimits

    /// - Parameters:
    ///   - script: of the page at `/`, which reports with `report(value)`.
    ///   - configure: changes the engine's configuration.
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
        // A page on a busy machine gets its connection late.
        configuration.connectionPatience = .seconds(300)
        configure(&configuration)
        var supervision = SupervisorConfiguration.patient
        supervise(&supervision)
        supervisor = Supervisor(configuration: supervision, logger: logger)
        engine = try BrowserEngine(configuration, logger: logger)
        self.reports = reports
        self.log = log
        self.window = window
        try supervisor.register("report", as: RawBody.self, from: .source(BrowserTrial.source)) { body, _ in
            reports.append(body.bytes.text ?? "not text")
        }
    }

    /// Runs engine and supervisor while `body` works, then drains them.
    func run(_ body: () async throws -> Void) async throws {
        try supervisor.add(engine, window: window)
        try await supervisor.whileRunning(body)
    }

    /// The address of a page of the running engine.
    func url(_ path: String = "/") async throws -> String {
        guard let url = try await engine.url(path) else { throw NeverListened() }
        return url
    }

    /// The port of the running engine.
    func port() async throws -> UInt16 {
        guard let port = await engine.port() else { throw NeverListened() }
        return port
    }

    /// Waits for a log line with the text.
    @discardableResult
    func hears(_ text: String) async -> String {
        await log.line(containing: text)
    }
}

struct NeverListened: Error {}

/// What the plugins of these tests take.
struct Payment: Codable, Sendable, Hashable {
    let amount: Int
    let currency: String
}

/// What is tested in a real browser, one after the other, as each has one of its own.
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
