import Foundation
import InMemoryTracing
import Logging
import MetricsTestKit
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing
import Tracing

@testable import Signalbox

@Suite struct LogTests {
    @Test func controlCharactersCannotBreakALine() {
        let hostile = "a\nb\r\u{1b}[31m\u{85}\u{2028}\u{202e}\u{61c}\u{feff}é日本"
        #expect(LineText.escaped(hostile) == #"a\u{a}b\u{d}\u{1b}[31m\u{85}\u{2028}\u{202e}\u{61c}\u{feff}é日本"#)
        #expect(LineText.escaped("plain text") == "plain text")
    }

    @Test func shownTextIsEscapedAndRedacted() {
        #expect(Redaction.line("a\ntoken=x\nb") == #"a\u{a}token=[redacted]\u{a}b"#)
    }

    @Test func aRateLimiterWithholdsTheExcessAndCountsIt() {
        var limiter = LogRateLimiter(lines: 2)
        #expect(limiter.admit(at: .seconds(1)) == 0)
        #expect(limiter.admit(at: .seconds(1)) == 0)
        #expect(limiter.admit(at: .seconds(1)) == nil)
        #expect(limiter.admit(at: .seconds(1)) == nil)
        #expect(limiter.takeWithheld(at: .seconds(1)) == 0)
        #expect(limiter.admit(at: .seconds(2)) == 2)
        #expect(limiter.takeWithheld() == 0)
        #expect(limiter.admit(at: .seconds(2)) == 0)
        #expect(limiter.admit(at: .seconds(2)) == nil)
        #expect(limiter.withheld == 1)
        #expect(limiter.takeWithheld(at: .seconds(3)) == 1)
        #expect(limiter.admit(at: .seconds(3)) == 0)
        #expect(limiter.admit(at: .seconds(3)) == 0)
        #expect(limiter.admit(at: .seconds(3)) == nil)
        #expect(limiter.takeWithheld() == 1)
    }

    @Test func theFieldsOfEveryLogKindAreDocumented() {
        for kind in LogKind.allCases {
            #expect(Set(kind.fields).count == kind.fields.count)
            #expect(!kind.text.isEmpty && !kind.frequency.isEmpty)
        }
        let used = Set(LogKind.allCases.flatMap(\.fields)).union(LogField.ofTheCommand).union([.source])
        #expect(used == Set(LogField.allCases), "a field is unused or undocumented")
    }
}

extension LogField {
    /// The fields that only lines of the command have.
    fileprivate static let ofTheCommand: Set<LogField> = [
        .body, .file, .at, .key, .problem, .sourcesAdded, .sourcesChanged, .sourcesRemoved, .pluginsAdded,
        .pluginsChanged,
        .pluginsRemoved, .program, .step,
    ]
}

@Suite struct QuietnessTests {
    private static let count = 2_000

    private static func supervisor(_ lines: EventList<String>, _ level: Logger.Level, _ clock: ManualClock)
        -> Supervisor
    {
        var configuration = SupervisorConfiguration()
        configuration.timeout = .milliseconds(200)
        var log = RecordingLog(lines)
        log.logLevel = level
        let logger = Logger(label: "quiet") { [log] _ in log }
        return Supervisor(configuration: configuration, logger: logger, clock: clock)
    }

    @Test func tenThousandHandledActionsLogNothing() async throws {
        let lines = EventList<String>()
        let supervisor = Self.supervisor(lines, .trace, ManualClock())
        supervisor.observe(SupervisorMetrics())
        supervisor.use(TracingMiddleware())
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            for _ in 0..<20 { _ = await intake.deliver(arrivals([String](repeating: message("work"), count: 500))) }
            #expect(lines.all.isEmpty)
        }
        #expect(supervisor.report.total.handled == 10_000)
        #expect(lines.all.count == 1, "expected only the line of the drain, found \(lines.all)")
    }

    /// Sends 2,000 actions of each of six kinds, 500 expired ones and 500 to a stalled plugin. The log has at most 50
    /// lines for each started second, and lines for the stall, dropped dead letters, the drain and withheld lines.
    @Test func elevenThousandActionsStayWithinTheLogBudget() async throws {
        let lines = EventList<String>()
        let clock = ManualClock()
        let supervisor = Self.supervisor(lines, .info, clock)
        let gate = Gate()
        try register(in: supervisor, gate)
        let intake = try supervisor.intake(for: "push")
        var sent = 0
        try await supervisor.whileRunning {
            for text in [
                message("works"), message("throws"), message("nobody"), message("closed"), "{",
                message("works", body: "1"),
            ] {
                for _ in 0..<4 {
                    _ = await intake.deliver(arrivals([String](repeating: text, count: Self.count / 4)))
                    sent += Self.count / 4
                }
            }
            let late = arrivals(deadline: .now, [String](repeating: message("works"), count: 500))
            _ = await intake.deliver(late)
            let hanging = arrivals([String](repeating: message("hangs"), count: 500))
            _ = await clock.tick(until: { await intake.deliver(hanging) })
            sent += 1_000
        }
        let report = supervisor.report.total
        #expect(report.settled == sent && sent >= 10_000)
        #expect(
            report.handled == Self.count && report.failed == Self.count + 1
                && report.rejected == sent - report.handled - report.failed
        )
        let seconds = Int(supervisor.core.elapsedSeconds) + 1
        #expect(lines.all.count <= 50 * seconds + 6, "\(lines.all.count) lines in \(seconds) seconds")
        #expect(lines.all.filter { $0.contains("dead letter: ") }.count >= 50)
        let reported = lines.all.compactMap(Self.withheld).reduce(0, +)
        let written = lines.all.filter { $0.contains("dead letter: ") }.count
        let unavailable = 499
        #expect(
            reported + written == report.rejected + report.failed - unavailable,
            "the withheld lines were not all counted"
        )
        gate.open()
    }

    private func register(in supervisor: Supervisor, _ gate: Gate) throws {
        try supervisor.register(Registration("works", as: [String: Int].self, from: .source("push")) { _, _ in })
        try supervisor.register(
            Registration("throws", as: Empty.self, from: .source("push")) { _, _ in throw TestError() }
        )
        try supervisor.register(Registration("closed", as: Empty.self, from: .source("chat")) { _, _ in })
        try supervisor.register(
            Registration("hangs", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
    }

    private static func withheld(_ line: String) -> Int? {
        line.split(separator: " ").compactMap { part in
            part.hasPrefix("linesWithheld=") ? Int(part.dropFirst("linesWithheld=".count)) : nil
        }.first
    }
}

/// Texts that try to break a line, control a terminal or reverse the text direction, wherever outside text can appear.
@Suite struct HostileTextTests {
    private static let own = [
        "a\nb", "a\r\nb", "\r", "\u{0}", "\u{1b}[2J", "\u{1b}]0;title\u{7}", "\u{9b}31m", "\u{85}", "\u{2028}",
        "\u{2029}",
        "\u{202e}gnp.exe", "\u{200f}", "\u{2066}x\u{2069}", "\u{61c}", "\u{feff}", "\u{7f}", "\u{8}\u{8}\u{8}", "\t",
        "\u{b}", "\u{c}",
        "\n2026-01-01T00:00:00Z error everything is fine", "%s%n", "\\u000a", "\\", "\"", "a=b c=\"d", "👩‍👩‍👧", "é", "日本",
        String(repeating: "\n", count: 120),
    ]

    private struct Thrown: Error, CustomStringConvertible { let description: String }

    @Test func hostileTextNeverBreaksALine() async throws {
        let lines = EventList<String>()
        var configuration = SupervisorConfiguration()
        configuration.logLinesPerSecond = .max
        configuration.deadLetters = DeadLetterLimits(count: 100_000, bytes: 1 << 30)
        let supervisor = Supervisor(
            configuration: configuration,
            logger: Logger(label: "hostile") { _ in RecordingLog(lines) }
        )
        let tracer = InMemoryTracer()
        let metrics = TestMetrics()
        supervisor.use(TracingMiddleware(tracer: tracer))
        supervisor.observe(SupervisorMetrics(factory: metrics))
        try supervisor.register(
            Registration("throws", as: String.self, from: .source("push")) { text, _ in
                throw Thrown(description: text)
            }
        )
        try supervisor.register(
            Registration("logs", as: String.self, from: .source("push")) { _, context in
                context.logger.info("done")
            }
        )
        try supervisor.register(Registration("strict", as: Strict.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        let texts = Self.own + (try Corpus.cases("naughty_strings.json") ?? [])
        let messages = try texts.flatMap(Self.messages)
        try await supervisor.whileRunning {
            for message in messages { _ = await intake.deliver(arrivals([message])) }
        }
        // One line for each message, either a dead letter or the plugin's own line, and one for the drain.
        #expect(lines.all.count == messages.count + 1)
        #expect(supervisor.report.total.settled == messages.count)
        for line in lines.all {
            #expect(!line.unicodeScalars.contains(where: Self.isUnsafe), "\(line.debugDescription)")
        }
        for span in tracer.finishedSpans {
            #expect(span.status?.message?.unicodeScalars.contains(where: Self.isUnsafe) != true)
            span.attributes.forEach { _, value in
                guard case .string(let text) = value else { return }
                #expect(!text.unicodeScalars.contains(where: Self.isUnsafe))
            }
        }
        let labels = Set((metrics.counters.map(\.dimensions) + metrics.timers.map(\.dimensions)).joined().map(\.1))
        let known = ["push", "throws", "logs", "strict", "none", "handled", "rejected", "failed"]
        let codes = ["threw", "malformed", "unknownAction", "invalidBody"]
        #expect(labels.isSubset(of: known + codes), "a text became a label: \(labels)")
    }

    /// Returns messages with the text as id, thrown error, action, member name and whole message.
    private static func messages(_ text: String) throws -> [String] {
        let json = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
        let id = text.isEmpty || text.utf8.count > ActionID.maximumLength ? #""long""# : json
        return [
            #"{"action":"logs","id":\#(id),"body":"x"}"#,
            #"{"action":"throws","id":\#(id),"body":\#(json)}"#,
            #"{"action":\#(json == #""logs""# ? #""x""# : json),"id":\#(id)}"#,
            #"{"action":"strict","body":{\#(json):{\#(json):1}}}"#,
            "{" + text,
        ]
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl || scalar == "\u{feff}"
        }
    }

    private struct Strict: Decodable {
        let amount: Int
    }
}
