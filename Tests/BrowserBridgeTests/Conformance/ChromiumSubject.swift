import BrokerKit
import BrowserBridge
import JSBridge
import Logging
import SignalboxCore
import SignalboxTesting
import Synchronization

/// The engine, and a page in Chromium that calls what it is told to and keeps the answers.
final class ChromiumSubject: ConformanceSubject {
    private static let script = """
        const answers = new Map();
        const kept = (id) => {
          if (!answers.has(id)) {
            let settle;
            const promise = new Promise((resolve) => { settle = resolve; });
            answers.set(id, { promise, settle });
          }
          return answers.get(id);
        };
        const sendAll = (orders) => {
          for (const { action, id, body } of orders) {
            signalbox.call(action, JSON.parse(body), { id }).then(
              (reply) => kept(id).settle(['reply', JSON.stringify(reply)]),
              (error) => kept(id).settle(['error', error.code]),
            );
          }
        };
        """

    private struct Order: Encodable {
        let action: String
        let id: String
        let body: String
    }

    let adapter: any Adapter
    let batchBound = 512
    private let engine: BrowserEngine
    private let tab: ChromiumTab
    private let loaded = Mutex<UInt16?>(nil)

    init(_ source: SourceName, _ browser: Chromium) async throws {
        let page = "<!doctype html><script src=/page.js></script>"
        var configuration = BrowserConfiguration(
            source: source,
            documents: ["/": .page(page), "/page.js": .script(ChromiumSubject.script)]
        )
        // Its pages must not come back when a case is over.
        configuration.messagesInFlight = 4_000
        // A page on a busy machine gets its connection late.
        configuration.connectionPatience = .seconds(300)
        engine = try BrowserEngine(configuration, logger: Logger(label: "page") { _ in SwiftLogNoOpLogHandler() })
        adapter = engine
        tab = try await browser.openTab()
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        try await load()
        let orders = messages.map { message in
            Order(action: message.action?.text ?? "no action", id: message.id.text, body: message.body)
        }
        let json = try BodyWriter.write(orders).text ?? "[]"
        try await tab.evaluate("sendAll(\(json))")
    }

    // Each run has a port of its own. The answers of the run before stay, as the page of another origin has its own.
    private func load() async throws {
        while true {
            try Task.checkCancellation()
            guard let port = await engine.port(), let url = try await engine.url() else {
                await Task.yield()
                continue
            }
            if loaded.withLock({ $0 }) == port { return }
            try await tab.load(url)
            loaded.withLock { $0 = port }
            return
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        let json = Bytes(try await tab.evaluate("kept('\(id.text)').promise"))
        let words = try Body(json: json, limits: MessageLimits(bytes: 1 << 20)).decode([String?].self)
        guard words.first == "reply" else { return .error(code: (words.last ?? nil) ?? "none") }
        return .reply((words.last ?? nil).map { Bytes($0) })
    }

    func end() async {
        try? await tab.close()
    }
}
