import Foundation
import InMemoryTracing
import Logging
import MetricsTestKit
import SignalboxCore
import SignalboxTesting
import Testing
import Tracing

@testable import Signalbox

/// Texts that try to break a line, act on a terminal or turn its direction, in each place where text from outside can come.
@Suite struct HostileTextTests {
    private struct Corpus: Decodable { let cases: [String] }

    private static let own = [
        "a\nb", "a\r\nb", "\r", "\u{0}", "\u{1b}[2J", "\u{1b}]0;title\u{7}", "\u{9b}31m", "\u{85}", "\u{2028}",
        "\u{2029}",
        "\u{202e}gnp.exe", "\u{200f}", "\u{2066}x\u{2069}", "\u{61c}", "\u{feff}", "\u{7f}", "\u{8}\u{8}\u{8}", "\t",
        "\u{b}", "\u{c}",
        "\n2026-01-01T00:00:00Z error everything is fine", "%s%n", "\\u000a", "\\", "\"", "a=b c=\"d", "👩‍👩‍👧", "é", "日本",
        String(repeating: "\n", count: 120),
    ]

    private static var texts: [String] {
        guard let folder = ProcessInfo.processInfo.environment["SIGNALBOX_CORPORA"] else {
            print("skipped: SIGNALBOX_CORPORA is not set; the repository's own hostile texts have run")
            return own
        }
        let file = URL(fileURLWithPath: folder).appendingPathComponent("naughty_strings.json")
        guard let corpus = try? JSONDecoder().decode(Corpus.self, from: Data(contentsOf: file)) else { return own }
        return own + corpus.cases
    }

    private struct Thrown: Error, CustomStringConvertible { let description: String }

    @Test func eachEventIsOneLineWhateverTheTextIs() async throws {
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
        supervisor.use(MetricsMiddleware(factory: metrics))
        try supervisor.register("throws", as: String.self, from: .source("push")) { text, _ in
            throw Thrown(description: text)
        }
        try supervisor.register("logs", as: String.self, from: .source("push")) { _, context in
            context.logger.info("done")
        }
        try supervisor.register("strict", as: Strict.self, from: .source("push")) { _, _ in }
        let intake = try supervisor.intake(for: "push")
        let messages = try Self.texts.flatMap(Self.messages)
        try await supervisor.whileRunning {
            for message in messages { _ = await intake.deliver(arrivals([message])) }
        }
        // One line for each message, dead letter or line of the plugin's own, and one for the drain.
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

    /// A text as the id, in the body that a plugin throws, as the action, as a member's name, and as the message itself.
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
