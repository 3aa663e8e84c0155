import BrokerKit
import BrowserBridge
import JSBridge
import Logging
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
    private static let suite = AdapterConformance(limit: .seconds(60)) { source in try SocketSubject(source) }

    @Test func pagesInBrowsersConform() async {
        let report = await Self.suite.run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test func concurrentCasesConform() async {
        let report = await Self.suite.stress(times: 5)
        #expect(report.isConforming, "\(report)")
    }
}

extension InChromium {
    @Suite struct ChromiumConformanceTests {
        @Test func aPageInChromiumConforms() async throws {
            try await Chromium.with { browser in
                let report = await AdapterConformance { try await ChromiumSubject($0, browser) }.run()
                #expect(report.isConforming, "\(report)")
                #expect(report.passed == AdapterConformance.Case.allCases)
            }
        }
    }
}

/// The engine with a page that is not in a browser: a socket that connects once in each run.
final class SocketSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = 512
    private let engine: BrowserEngine
    private let state = Mutex(State())

    private struct State {
        var sockets: [UInt16: PageSocket] = [:]
        /// The number and the socket of each message's call.
        var calls: [String: (number: Int, socket: PageSocket)] = [:]
        var last = 0
    }

    init(_ source: SourceName) throws {
        let configuration = BrowserConfiguration(source: source)
        engine = try BrowserEngine(configuration, logger: Logger(label: "page") { _ in SwiftLogNoOpLogHandler() })
        adapter = engine
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        let socket = try await socket()
        for message in messages {
            let number = state.withLock { state in
                state.last += 1
                state.calls[message.id.text] = (state.last, socket)
                return state.last
            }
            socket.send("call \(number) 0\n\(message.envelope)")
        }
    }

    // Each run usually has its own port.
    private func socket() async throws -> PageSocket {
        while true {
            try Task.checkCancellation()
            guard let port = await engine.port() else {
                await Task.yield()
                continue
            }
            if let known = state.withLock({ $0.sockets[port] }), !known.isClosed { return known }
            let token = try await engine.fragment().dropFirst("signalbox=".count)
            let socket = try await PageSocket(port, token: String(token))
            guard socket.status == 101 else { continue }
            state.withLock { $0.sockets[port] = socket }
            return socket
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        guard let (number, socket) = state.withLock({ $0.calls[id.text] }) else {
            throw ConformanceError("no message has this id")
        }
        let lines = ["reply \(number)", "refuse \(number)"]
        do {
            let text = try await socket.text { text in
                lines.contains { text == $0 || text.hasPrefix($0 + "\n") }
            }
            return try SocketSubject.answer(text)
        } catch let closed as PageSocket.Closed {
            // browser.js treats the close code the same.
            guard closed.code == 1001 else { throw ConformanceError("the connection ended: \(closed)") }
            return .error(code: "drain")
        }
    }

    private static func answer(_ text: String) throws -> ConformanceAnswer {
        let parts = text.split(separator: "\n", maxSplits: 1)
        if text.hasPrefix("reply") { return .reply(parts.count > 1 ? Bytes(String(parts[1])) : nil) }
        let code = try Body(json: Bytes(String(parts[1]))).decode([String?].self).first
        return .error(code: (code ?? nil) ?? "none")
    }

    func end() async {
        state.withLock { state in
            for socket in state.sockets.values { socket.cut() }
        }
    }
}

/// The engine with a page in Chromium that makes the requested calls and stores the answers.
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
        // No call may wait in the page, where it would outlive its case.
        configuration.messagesInFlight = 4_000
        // On a busy machine, a page connects late.
        configuration.connectionTimeout = .seconds(300)
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

    // Each run has its own port, and so a page of another origin with its own answers.
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
        let fields = try Body(json: json, limits: MessageLimits(bytes: 1 << 20)).decode([String?].self)
        guard fields.first == "reply" else { return .error(code: (fields.last ?? nil) ?? "none") }
        return .reply((fields.last ?? nil).map { Bytes($0) })
    }

    func end() async {
        try? await tab.close()
    }
}
