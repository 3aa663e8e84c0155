import BrokerKit
import JSBridge
import Logging
import SignalboxCore
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test func aHeadlessPageConforms() async {
        let report = await Self.suite.run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test func concurrentCasesConform() async {
        let report = await Self.suite.stress(times: 5)
        #expect(report.isConforming, "\(report)")
    }

    @Test func aPageInASeparateProcessConforms() async {
        let report = await Self.ownProcess.run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test func concurrentCasesInSeparateProcessesConform() async {
        let report = await Self.ownProcess.stress(times: 2)
        #expect(report.isConforming, "\(report)")
    }

    private static let ownProcess = AdapterConformance { source in
        var process = ScriptProcess(program: BuiltProgram.path("PageProcess"))
        // A sanitizer's own memory counts as well.
        process.memoryLimit = 4 << 30
        return try PageSubject(source, in: process)
    }

    private static let suite = AdapterConformance { source in try PageSubject(source) }
}

/// A headless page whose script makes the requested calls and writes each answer to its console.
struct PageSubject: ConformanceSubject {
    private struct Order: Encodable {
        let action: String
        let id: String
        let body: String
    }

    private static let script = """
        signalbox.on("conformance.send", (orders) => {
          for (const { action, id, body } of orders) {
            const tell = (kind, value) => console.log(`answer ${id} ${kind} ${value}`);
            signalbox.call(action, JSON.parse(body), { id }).then(
              (reply) => tell("reply", JSON.stringify(reply)),
              (error) => tell("error", error.code),
            );
          }
        });
        """

    let adapter: any Adapter
    let batchBound: Int
    private let engine: JavaScriptCoreEngine
    private let answers: AnswerLog

    /// - Parameter process: The process for the page's scripts, or `nil` for this process.
    init(_ source: SourceName, in process: ScriptProcess? = nil) throws {
        let answers = AnswerLog()
        var configuration = JavaScriptCoreConfiguration(
            source: source,
            scripts: [PageScript(name: "conformance.js", source: PageSubject.script)]
        )
        configuration.batchMessages = 64
        configuration.consoleLinesPerSecond = 1_000_000
        configuration.limits = MessageLimits(bytes: 1_024 * 1_024)
        configuration.process = process
        batchBound = configuration.batchMessages
        engine = try JavaScriptCoreEngine(configuration, logger: Logger(label: "page") { _ in answers })
        adapter = engine
        self.answers = answers
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        let orders = messages.map { message in
            Order(action: message.action?.text ?? "no action", id: message.id.text, body: message.body)
        }
        try await engine.page.call("conformance.send", orders, timeout: .seconds(60))
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        try await answers.answer(to: id.text)
    }

    func end() async {
        engine.page.close()
    }
}

/// A log handler that reads the answers from a page's console. They remain available after the page has ended.
struct AnswerLog: LogHandler {
    private let answers = Watched<[String: ConformanceAnswer]>([:])
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = event.message.description.split(separator: " ", maxSplits: 3).map(String.init)
        guard fields.count == 4, fields[0] == "answer" else { return }
        let answer = fields[2] == "reply" ? ConformanceAnswer.reply(Bytes(fields[3])) : .error(code: fields[3])
        answers.change { $0[fields[1]] = answer }
    }

    func answer(to id: String) async throws -> ConformanceAnswer {
        await answers.until { $0[id] != nil }
        guard let answer = answers.value[id] else { throw CancellationError() }
        return answer
    }
}
