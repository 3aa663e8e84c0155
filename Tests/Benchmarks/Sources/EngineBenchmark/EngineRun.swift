import BrowserBridge
import CPageCounter
import Foundation
import JSBridge
import Logging
import Signalbox
import SignalboxCore

#if WebKitGTK
import SignalboxRoutes
#endif

/// A run of one page, from before the creation of its engine to the end of this process's standard input.
struct EngineRun<Page: EnginePage> {
    private struct Payment: Decodable, Sendable {
        let amount: Int
        let transactionId: String
        let paymentId: String
        let paymentGoodsName: String
    }

    private struct Receipt: Encodable, Sendable {
        let total: Int
    }

    private let count: Int
    private let page: Page

    init(count: Int, _ page: Page) {
        self.count = count
        self.page = page
    }

    /// Runs the page, prints the measurements, waits for the end of standard input, and stops the engine.
    func finish() async throws {
        page_counter_begin(count)
        let quiet = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        let (ends, end) = AsyncStream<Void>.makeStream()
        let engine = try page.engine(logger: quiet)
        let supervisor = Supervisor(logger: quiet)
        try supervisor.add(engine)
        // Only one lane calls the plugin, so only one thread counts at a time.
        try supervisor.register(
            Registration("payment", as: Payment.self, from: .source("page")) { payment, _ in
                if page_counter_take(payment.amount) { end.finish() }
                return Receipt(total: payment.amount)
            }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            try await page.opened(engine)
            for await _ in ends {}
            page_counter_print()
            await Self.untilInputEnds()
            let handled = supervisor.report.total.handled
            precondition(handled == count + 1, "\(handled) of \(count + 1) messages were handled")
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    private static func untilInputEnds() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while readLine() != nil {}
                continuation.resume()
            }
        }
    }
}

/// The page of a run, with the engine that it needs.
protocol EnginePage: Sendable {
    /// The maximum number of unsettled messages of a page: the whole flood of one-way messages waits in its page.
    static var messagesWaitingInPage: Int { get }

    /// Creates the engine for the page, after the measurement has started.
    func engine(logger: Logger) throws -> any Adapter

    /// Prints the information that the caller needs to open the page. Called while the engine runs.
    func opened(_ engine: any Adapter) async throws
}

extension EnginePage {
    static var messagesWaitingInPage: Int { 1_000_000 }

    func opened(_ engine: any Adapter) async throws {}
}

/// A script without a page.
struct JavaScriptCorePage: EnginePage {
    private let source: String

    init(script path: String) throws {
        source = try String(contentsOfFile: path, encoding: .utf8)
    }

    func engine(logger: Logger) throws -> any Adapter {
        let configuration = JavaScriptCoreConfiguration(
            source: "page",
            scripts: [PageScript(name: "page.js", source: source)]
        )
        return try JavaScriptCoreEngine(configuration, logger: logger)
    }
}

/// A page that the engine serves, and that the caller opens in a browser.
struct BrowserSite: EnginePage {
    private let source: String

    init(script path: String) throws {
        source = try String(contentsOfFile: path, encoding: .utf8)
    }

    func engine(logger: Logger) throws -> any Adapter {
        var configuration = BrowserConfiguration(source: "page")
        configuration.documents = [
            "/": .page("<!DOCTYPE html><title>Benchmark</title><script src=\"/page.js\"></script>"),
            "/page.js": .script(source),
        ]
        configuration.messagesWaitingInPage = Self.messagesWaitingInPage
        return try BrowserEngine(configuration, logger: logger)
    }

    func opened(_ engine: any Adapter) async throws {
        guard let url = try await (engine as? BrowserEngine)?.url() else { return }
        print(url)
        fflush(nil)
    }
}

#if WebKitGTK
/// A page from another server, without a sandbox, like that of the bare view.
struct WebKitGTKPage: EnginePage {
    private let url: URLText

    init(url: String) throws {
        self.url = try URLText(url)
    }

    func engine(logger: Logger) throws -> any Adapter {
        let preset = BridgePreset.default.deriving("benchmark") { $0.add(handler: BridgeHandler("payment")) }
        var configuration = WebViewConfiguration(source: "page", page: try preset.configuration(url: url))
        configuration.messagesWaitingInPage = Self.messagesWaitingInPage
        return try WebKitGTKEngine(configuration, sandbox: .off, logger: logger)
    }
}
#endif
