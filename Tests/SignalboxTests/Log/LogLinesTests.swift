import Foundation
import Logging
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import Signalbox

/// The log lines that a supervisor writes match the table in docs/log-lines.md.
@Suite(.timeLimit(.minutes(10))) struct LogLinesTests {
    private struct FailingAdapter: Adapter {
        let source: SourceName = "broken"
        let features: AdapterFeatures = []
        func run(into intake: any Intake) async throws { throw TestError() }
    }

    private struct DiskFull: RetryableError {
        var whenExhausted: RetryExhaustion { .abandon }
    }

    private static func kind(of line: LoggedLine) -> LogKind? {
        LogKind.allCases.first { line.message == $0.text || line.message.hasPrefix("\($0.text): ") }
    }

    @Test func eachLineHasTheLevelAndFieldsOfItsKind() async throws {
        let trial = try LogTrial()
        let run = Task { try await trial.supervisor.run() }
        try await trial.openAndCloseBreaker()
        await trial.stall()
        await trial.endInlineCalls()
        await trial.removeASource()
        await trial.giveBack()
        await trial.flood()
        trial.reportStore()
        #expect(trial.stuck.submit(arrivals(from: "stuck", [message("stuck")]), to: trial.sink) == 1)
        await trial.never.untilArrived(1)
        trial.supervisor.shutDown()
        await #expect(throws: TestError.self) { try await trial.clock.tick { try await run.value } }
        var seen: Set<LogKind> = []
        for line in trial.lines.all {
            let kind = try #require(Self.kind(of: line), "\(line)")
            #expect(line.level == kind.level, "\(line)")
            #expect(line.fields.isSubset(of: (kind.fields + [.source]).map(\.rawValue)), "\(line)")
            seen.insert(kind)
        }
        #expect(seen == Set(LogKind.allCases))
        trial.never.open()
    }

    /// A supervisor in which every event with a log line occurs.
    private struct LogTrial {
        let lines = EventList<LoggedLine>()
        let clock = ManualClock()
        let supervisor: Supervisor
        let sink = RecordingSink()
        let gate = Gate()
        let blocking = BlockingGate()
        let never = Gate()
        let push, late, stuck, extra, broker: any Intake

        init() throws {
            var configuration = SupervisorConfiguration()
            configuration.timeout = .milliseconds(200)
            configuration.drainLimit = .seconds(1)
            configuration.deadLetters = DeadLetterLimits(count: 1)
            configuration.logLinesPerSecond = 3
            let logger = Logger(label: "test") { [lines] _ in LoggedLines(lines) }
            supervisor = Supervisor(configuration: configuration, logger: logger, clock: clock)
            try supervisor.add(InMemoryAdapter(source: "page"))
            try supervisor.add(FailingAdapter())
            push = try supervisor.intake(for: "push")
            late = try supervisor.intake(for: "late")
            stuck = try supervisor.intake(for: "stuck")
            extra = try supervisor.intake(for: "extra")
            broker = try supervisor.intake(for: "broker", features: .redelivers)
            try supervisor.register(
                Registration("store", as: Empty.self, from: .source("broker")) { _, _ in throw DiskFull() }
            )
            let options = PluginOptions<Bool>(circuitBreaker: CircuitBreakerPolicy(failures: 1, openFor: .seconds(1)))
            try supervisor.register(
                Registration("unsteady", as: Bool.self, from: .source("push"), options: options) { works, _ in
                    if !works { throw TestError() }
                }
            )
            try supervisor.register(
                Registration("hangs", as: Empty.self, from: .source("late")) { [gate] _, _ in await gate.pass() }
            )
            let patient = PluginOptions<Empty>(timeout: .seconds(3_600))
            let inline = PluginOptions<Empty>(timeout: .seconds(3_600), runsInline: true)
            try supervisor.register(
                Registration("slow", as: Empty.self, from: .source("push"), options: inline) { [blocking] _, _ in
                    blocking.pass()
                }
            )
            try supervisor.register(
                Registration("stuck", as: Empty.self, from: .source("stuck"), options: patient) {
                    [never] _, _ in
                    await never.pass()
                }
            )
        }

        /// Only a damaged disk causes these events, so the test reports them itself.
        func reportStore() {
            let events: [StoreEvent] = [
                .writeFailed("no space"), .writable(failures: 1), .lettersDeleted(1), .lettersNearlyFull(percent: 80),
                .historyDropped(1), .logTorn,
            ]
            for event in events { StoreEvents.log(event, to: supervisor.core.logger) }
            supervisor.core.logger.write(
                .storeUnreadable,
                "no such file",
                [.source: "push", .advice: StoreEvents.advice]
            )
        }

        func openAndCloseBreaker() async throws {
            #expect(await push.deliver(arrivals([message("unsteady", body: "false")])).map(reason) == ["threw"])
            await clock.tick(12)
            #expect(await push.deliver(arrivals([message("unsteady", body: "true")])).map(reason) == ["handled"])
        }

        func stall() async {
            #expect(late.submit(arrivals(from: "late", [message("hangs"), message("hangs")]), to: sink) == 2)
            await gate.untilArrived(1)
            await clock.tick(6)
            await sink.untilSettled(2)
            gate.open()
            _ = await lines.wait { $0.contains { LogLinesTests.kind(of: $0) == .lateReturn } }
        }

        /// The plugin is seen in its call at two ticks.
        func endInlineCalls() async {
            let slow = RecordingSink()
            blocking.onAnotherThread { [push] in
                _ = push.submit(arrivals(firstToken: 9, [message("slow")]), to: slow)
            }
            await blocking.untilEntered(1)
            await clock.tick(2)
            blocking.open()
            await slow.untilSettled(1)
        }

        /// The removal also reports the lines withheld for the source. Most of its messages are rejected for one reason.
        func removeASource() async {
            _ = await extra.deliver(arrivals(from: "extra", [String](repeating: message("nobody"), count: 25)))
            #expect(await supervisor.remove(source: "extra"))
        }

        /// The second line about these messages is written at the end.
        func giveBack() async {
            for _ in 1...3 { _ = await broker.deliver(arrivals(from: "broker", [message("store")])) }
        }

        /// The first line of the next second reports the lines over the budget.
        func flood() async {
            _ = await push.deliver(arrivals([String](repeating: message("nobody"), count: 9)))
            await clock.tick(10)
            _ = await push.deliver(arrivals([message("nobody")]))
        }
    }

    private struct Answering: Middleware {
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
            .rejected(Outcome.Rejection(.unavailable, detail: "closed on Sundays"))
        }
    }

    @Test func anUnavailableOutcomeFromMiddlewareIsLogged() async throws {
        let lines = EventList<LoggedLine>()
        let logger = Logger(label: "test") { _ in LoggedLines(lines) }
        let supervisor = Supervisor(configuration: .patient, logger: logger)
        let options = PluginOptions<Empty>(middleware: [Answering()])
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, _ in }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work")])) }
        let reported = lines.all.filter { $0.message == "dead letter: unavailable: closed on Sundays" }
        #expect(
            reported.map(\.fields) == [["source", "action", "id", "plugin", "outcome", "code", "advice", "attempts"]]
        )
    }
}

/// Searches the sources of all modules, including adapters and the command, for log calls.
@Suite struct LogCallTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The files that write log lines. Each ensures that a line has one event and no secret, and is not written too
    /// often. The lines are listed in docs/log-lines.md.
    private static let files: Set<String> = [
        "Sources/Signalbox/Log/Log.swift",
        "Sources/SignalboxCommand/Bridge/BridgeRun.swift",
        "Sources/SignalboxCommand/Console/ConsoleService.swift",
        "Sources/SignalboxCommand/Control/ActionSender.swift",
        "Sources/SignalboxCommand/Control/ControlService.swift",
        "Sources/SignalboxCommand/Observe/ObservationServer.swift",
        "Sources/SignalboxCommand/Plugins/BuiltInPlugins.swift",
        "Sources/SignalboxCommand/Plugins/Programs/ProcessPool.swift",
        "Sources/SignalboxCommand/Plugins/Programs/ProcessReader.swift",
        "Sources/SignalboxCommand/Run/AbandonedSession.swift",
        "Sources/SignalboxCommand/Run/GroupHandover.swift",
        "Sources/SignalboxCommand/Run/ConfigurationReload.swift",
        "Sources/SignalboxCommand/Run/RunCommand.swift",
        "Sources/SignalboxCommand/Run/RunObservers.swift",
        "Sources/SignalboxCommand/Steps/ChainPlugin.swift",
        "Sources/SignalboxCommand/Telemetry/OTLPConnection.swift",
        "adapters/AdapterSupport/AdapterLog.swift",
        "adapters/AdapterSupport/LibraryVulnerability.swift",
        "adapters/AppScheme/LinkLog.swift",
        "adapters/JSBridge/Page/PageLog.swift",
    ]

    private static func sources() throws -> [(path: String, text: String)] {
        try ["Sources", "adapters"].flatMap { folder in
            let names = try #require(FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path))
            return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().map { name in
                let path = "\(folder)/\(name)"
                let text = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
                // The examples in comments log too.
                return (path, text.replacing(/(?m)^ *\/\/.*$/, with: ""))
            }
        }
    }

    @Test func logCallsAreLimitedToListedFiles() throws {
        let call = /[lL]og(?:ger)?\??\.(?:trace|debug|info|notice|warning|error|critical)\(\s*"|\Wlog\(\s*level:/
        var found: Set<String> = []
        for (path, text) in try Self.sources() where text.contains("import Logging") && text.contains(call) {
            found.insert(path)
        }
        #expect(found.subtracting(Self.files).isEmpty, "these files have log calls but are not listed")
        #expect(Self.files.subtracting(found).isEmpty, "these listed files have no log calls")
    }

    @Test func everyLoggedFieldIsInLogField() throws {
        var count = 0
        for (path, text) in try Self.sources() where text.contains("import Logging") {
            for key in Self.keys(in: text) {
                #expect(LogField(rawValue: key) != nil, "\(path): the field '\(key)' is not in LogField")
                count += 1
            }
        }
        #expect(count >= 5, "expected at least 5 fields, found \(count)")
    }

    /// Returns the field names that are literals in `metadataKey: "name"` and `metadata: ["name": ...]`.
    private static func keys(in text: String) -> [String] {
        let single = text.matches(of: /metadataKey:\s*"([^"]*)"/).map { String($0.1) }
        let lists = text.matches(of: /[mM]etadata(?:: |\s*=\s*)\[([^\]]*)\]/).map(\.1)
        return single + lists.flatMap { list in list.matches(of: /"([A-Za-z]+)":/).map { String($0.1) } }
    }
}
