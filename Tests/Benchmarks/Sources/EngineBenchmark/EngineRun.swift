import BrowserBridge
import CPageCounter
import Foundation
import JSBridge
import Logging
import Signalbox
import SignalboxCore

/// One page, from before its engine is made until the input of this process ends.
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

    /// Runs the page, prints what was measured, waits for the end of the input, and stops the engine.
    func finish() async throws {
        page_counter_begin(count)
        let quiet = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        let (ends, end) = AsyncStream<Void>.makeStream()
        let engine = try page.engine(logger: quiet)
        let supervisor = Supervisor(logger: quiet)
        try supervisor.add(engine)
        // One lane calls it, so one thread at a time counts.
        try supervisor.register("payment", as: Payment.self, from: .source("page")) { payment, _ in
            if page_counter_take(payment.amount) { end.finish() }
            return Receipt(total: payment.amount)
        }
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

/// An engine and the page it is to run.
protocol EnginePage: Sendable {
    /// What pages may have sent without an outcome, at most: a flood of one-way messages waits in its page, all of it.
    static var messagesWaitingInPage: Int { get }

    /// The engine, with what it needs known: made once its time has begun.
    func engine(logger: Logger) throws -> any Adapter

    /// Called while the engine runs: tells what the caller must know to open the page.
    func opened(_ engine: any Adapter) async throws
}

extension EnginePage {
    static var messagesWaitingInPage: Int { 1_000_000 }

    func opened(_ engine: any Adapter) async throws {}
}

/// A script alone.
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

/// A page that the engine serves, and somebody else opens in a browser.
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
