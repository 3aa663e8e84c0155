import Foundation
import JSBridge
import Logging
import ServiceLifecycle
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

/// A page under a supervisor, what it reports, and what it logs.
struct PageTrial: Sendable {
    static let source: SourceName = "page"

    let supervisor: Supervisor
    let engine: JavaScriptCoreEngine
    /// What the scripts gave to `report`, as JSON, in order.
    let reports: EventList<String>
    /// The log lines of page and supervisor.
    let log: EventList<String>
    private let window: WindowLimits

    /// - Parameters:
    ///   - scripts: named `one.js`, `two.js`, ... A script reports with `report(value)`.
    ///   - configure: changes the engine's configuration.
    ///   - supervise: changes the supervisor's.
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
        // Time that other tests take is not the script's.
        configuration.executionTimeLimit = .seconds(600)
        configure(&configuration)
        var supervision = SupervisorConfiguration.patient
        supervise(&supervision)
        supervisor = Supervisor(configuration: supervision, logger: logger)
        engine = try JavaScriptCoreEngine(configuration, logger: logger)
        self.reports = reports
        self.log = log
        self.window = window
        try supervisor.register("report", as: RawBody.self, from: .script()) { body, _ in
            reports.append(contentsOf: [body.bytes.text ?? "not text"])
        }
    }

    /// Runs page and supervisor while `body` works, then drains them.
    func run(_ body: () async throws -> Void) async throws {
        try supervisor.add(engine, window: window)
        // A page that ends by itself ends the supervisor, which is no failure here.
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

    /// Runs the page until it ends by itself, and gives what it reported.
    @discardableResult
    func untilEnd() async throws -> [String] {
        try supervisor.add(engine, window: window)
        try await supervisor.run()
        return reports.all
    }

    /// Waits for a log line with the text.
    @discardableResult
    func hears(_ text: String) async -> String {
        await log.line(containing: text)
    }
}

/// What the plugins of these tests take.
struct Payment: Codable, Sendable, Hashable {
    let amount: Int
    let currency: String
}

/// A separate process that runs a chain of promises, which JavaScriptCore 2.50 may abort: on a busy machine a thread of the
/// library was seen to do so in about one of thirty runs.
enum AbortingProcess {
    /// Five aborts in a row are no accident.
    private static let attempts = 5
    private static let mark: StaticString = "JavaScriptCore aborted the process"

    /// Runs the exit test until its process ends without an abort, which ``reportAborts()`` has it say on standard output.
    static func expectItsEnd(_ run: () async -> ExitTest.Result?) async {
        for _ in 0..<attempts {
            // What else went wrong is recorded by the expectation itself.
            guard let result = await run() else { return }
            if !String(decoding: result.standardOutputContent, as: UTF8.self).contains("\(mark)") { return }
        }
        Issue.record("\(mark) in \(attempts) of \(attempts) runs")
    }

    /// In the exit test: an abort ends the process with success and the mark. Any other signal ends it as usual.
    static func reportAborts() {
        signal(SIGABRT) { _ in
            _ = write(STDOUT_FILENO, AbortingProcess.mark.utf8Start, AbortingProcess.mark.utf8CodeUnitCount)
            _exit(EXIT_SUCCESS)
        }
    }
}
