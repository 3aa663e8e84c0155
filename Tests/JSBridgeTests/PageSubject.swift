import JSBridge
import Logging
import SignalboxCore
import SignalboxTesting

/// A headless page whose script calls what it is told to and writes each answer to its console.
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

    /// - Parameter process: where the page's scripts run; `nil`: in this process.
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
