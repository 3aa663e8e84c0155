#if WebKitGTK
import BrokerKit
import Foundation
import Logging
import NavigationChain
import ServiceLifecycle
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting

@testable import JSBridge

/// A web view under a supervisor, two sites of different origins, and what is reported and logged.
///
/// In the sites' texts `{home}` and `{other}` stand for their origins.
struct WebTrial: Sendable {
    static let source: SourceName = "web"

    let home: WebSite
    let other: WebSite
    let supervisor: Supervisor
    let engine: WebKitGTKEngine
    /// What pages gave to `report`, as JSON, in order.
    let reports: EventList<String>
    let log: EventList<String>
    /// Whether verdicts were told on the library's thread, which somebody who takes his time would hold up.
    let toldOnThread: EventList<Bool>
    /// Each verdict as `policy kind frame text`, with the sites' names for their origins.
    let verdicts: EventList<String>
    private let window: WindowLimits

    /// - Parameters:
    ///   - home: answers by path of the site whose pages have the bridge; `/` is loaded first.
    ///   - other: those of the other.
    ///   - chain: what may be loaded; everything by default.
    ///   - build: changes what the page is told.
    ///   - configure: changes the engine's configuration.
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
        for (path, answer) in home { sites.home.set(path, answer.naming(sites.home, sites.other)) }
        for (path, answer) in other { sites.other.set(path, answer.naming(sites.home, sites.other)) }
        let logger = Logger(label: "web") { _ in RecordingLog(log) }
        var configurator = BridgeConfigurator()
        configurator.set(navigation: try chain ?? NavigationRouter([], fallback: .allow("a test")))
        build(&configurator)
        let page = try configurator.build(url: URLText("\(sites.home.origin)/"))
        var configuration = WebViewConfiguration(source: WebTrial.source, page: page)
        configuration.unresponsiveLimit = .seconds(300)
        configuration.navigationDeadline = .seconds(600)
        configuration.reloadCap = .milliseconds(1)
        configuration.lastWords = .seconds(600)
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
        try supervisor.register("report", as: RawBody.self, from: .script(origin: WebOrigin(sites.home.origin))) {
            body,
            _ in
            reports.append(body.bytes.text ?? "not text")
        }
    }

    /// A page of the home site: `report(value)` reports, and `code(error)` is an error's code.
    static func page(_ script: String, _ rest: String = "", headers: [String: String] = [:]) -> WebSite.Answer {
        let prelude = "const report = (value) => signalbox.call('report', value), code = (error) => error.code;"
        return .html(
            "<!doctype html><meta charset=utf-8><title>home</title>\(rest)<script>\(prelude)\n\(script)</script>",
            headers: headers
        )
    }

    /// Runs page and supervisor while `body` works, then drains them.
    func run(_ body: () async throws -> Void) async throws {
        defer {
            home.close()
            other.close()
        }
        try supervisor.add(engine, window: window)
        let service = ServiceGroupConfiguration.ServiceConfiguration(
            service: supervisor,
            successTerminationBehavior: .gracefullyShutdownGroup
        )
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [service], logger: quiet))
        async let run: Void = group.run()
        do {
            try await body()
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await run
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

    /// Waits for a log line with the text.
    @discardableResult
    func hears(_ text: String) async -> String {
        await log.line(containing: text)
    }

    /// Waits for a verdict with the text.
    @discardableResult
    func decides(_ text: String) async -> String {
        await verdicts.line(containing: text)
    }
}

extension WebSite.Answer {
    func naming(_ home: WebSite, _ other: WebSite) -> WebSite.Answer {
        changed { $0.replacing("{home}", with: home.origin).replacing("{other}", with: other.origin) }
    }
}
#endif
