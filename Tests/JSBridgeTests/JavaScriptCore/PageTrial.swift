import Foundation
import JSBridge
import Logging
import ServiceLifecycle
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// A page under a supervisor, with its reports and log lines.
struct PageTrial: Sendable {
    static let source: SourceName = "page"

    let supervisor: Supervisor
    let engine: JavaScriptCoreEngine
    /// The values that the scripts passed to `report`, as JSON, in order.
    let reports: EventList<String>
    /// The log lines of the page and the supervisor.
    let log: EventList<String>
    private let window: WindowLimits

    /// - Parameters:
    ///   - scripts: The texts of `one.js`, `two.js` and so on. A script reports with `report(value)`.
    ///   - configure: Changes the engine's configuration.
    ///   - supervise: Changes the supervisor's configuration.
    init(
        _ scripts: String...,
        configure: (inout JavaScriptCoreConfiguration) -> Void = { _ in },
        window: WindowLimits = WindowLimits(),
        supervise: (inout SupervisorConfiguration) -> Void = { _ in }
    ) throws {
        let (log, reports) = (EventList<String>(), EventList<String>())
        let logger = Logger(label: "page") { _ in RecordingLog(log) }
        let names = ["one.js", "two.js", "three.js"]
        let given = zip(names, scripts).map { PageScript(name: $0, source: $1) }
        let prelude = PageScript(
            name: "prelude.js",
            source: "const report = (value) => signalbox.call('report', value);"
        )
        var configuration = JavaScriptCoreConfiguration(source: PageTrial.source, scripts: [prelude] + given)
        // The time that other tests use must not count as the script's.
        configuration.executionTimeLimit = .seconds(600)
        configure(&configuration)
        var supervision = SupervisorConfiguration.patient
        supervise(&supervision)
        supervisor = Supervisor(configuration: supervision, logger: logger)
        engine = try JavaScriptCoreEngine(configuration, logger: logger)
        self.reports = reports
        self.log = log
        self.window = window
        try supervisor.register(
            Registration("report", as: RawBody.self, from: .script()) { body, _ in
                reports.append(contentsOf: [body.bytes.text ?? "not text"])
            }
        )
    }

    /// Runs the page and the supervisor while `body` works, then drains them.
    func run(_ body: () async throws -> Void) async throws {
        try supervisor.add(engine, window: window)
        try await supervisor.whileItLasts(body)
    }

    /// Runs the page until it ends by itself, and returns its reports.
    @discardableResult
    func untilEnd() async throws -> [String] {
        try supervisor.add(engine, window: window)
        try await supervisor.run()
        return reports.all
    }

    /// Waits for a log line that contains the text.
    @discardableResult
    func waitForLog(_ text: String) async -> String {
        await log.line(containing: text)
    }
}

extension Supervisor {
    /// Runs the supervisor while `body` works, then drains it. A page that ends by itself ends the supervisor, which is
    /// not a failure here.
    func whileItLasts(_ body: () async throws -> Void) async throws {
        let service = ServiceGroupConfiguration.ServiceConfiguration(
            service: self,
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
}

/// The body that the plugins of these tests decode.
struct Payment: Codable, Sendable, Hashable {
    let amount: Int
    let currency: String
}

/// A separate process for a chain of promises, which JavaScriptCore 2.50 may abort. On a busy machine, a thread of the
/// library did so in about one of thirty runs.
enum AbortingProcess {
    /// The maximum number of runs. Five aborts in a row are not a coincidence.
    private static let attempts = 5
    private static let mark: StaticString = "JavaScriptCore aborted the process"

    /// Runs the exit test until its process ends without an abort, which ``reportAborts()`` reports on standard output.
    static func retryAfterAborts(_ run: () async -> ExitTest.Result?) async {
        for _ in 0..<attempts {
            // The expectation itself records any other failure.
            guard let result = await run() else { return }
            if !String(decoding: result.standardOutputContent, as: UTF8.self).contains("\(mark)") { return }
        }
        Issue.record("\(mark) in \(attempts) of \(attempts) runs")
    }

    /// For the exit test: an abort prints the mark and ends the process with success. Other signals act as usual.
    static func reportAborts() {
        signal(SIGABRT) { _ in
            _ = write(STDOUT_FILENO, AbortingProcess.mark.utf8Start, AbortingProcess.mark.utf8CodeUnitCount)
            _exit(EXIT_SUCCESS)
        }
    }
}
