import BrokerKit
import BrowserBridge
import JSBridge
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing
import WebSocketChat

extension InChromium {
    @Suite struct PageFloodTests {
        private static let count = 5_000

        @Test func aFloodIsBoundedAndKeepsItsOrder() async throws {
            let trial = try BrowserTrial(
                configure: { $0.messagesInFlight = 16 },
                window: WindowLimits(arrivals: 8)
            )
            let numbers = EventList<Int>()
            try trial.supervisor.register("count", as: Int.self, from: .script()) { number, _ in
                numbers.append(number)
            }
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    let flood = """
                        Promise.all(Array.from({length: \(Self.count)}, (_, n) =>
                          n % 2 ? signalbox.call('count', n) : webkit.messageHandlers.count.postMessage(n))).then((all) => all.length)
                        """
                    #expect(try await tab.evaluate(flood) == "\(Self.count)")
                    #expect(numbers.all == Array(0..<Self.count))
                    #expect(trial.engine.counts.opened == 1)
                }
            }
        }

        @Test func moreThanMayWaitIsRefusedInThePage() async throws {
            let trial = try BrowserTrial(configure: { configuration in
                configuration.messagesWaitingInPage = 100
                configuration.messagesInFlight = 10
            })
            let gate = Gate()
            try trial.supervisor.register("wait", as: Int.self, from: .script()) { _, _ in await gate.pass() }
            try trial.supervisor.register("open", as: RawBody.self, from: .script()) { _, _ in gate.open() }
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    let flood = """
                        (globalThis.all = Array.from({length: 1000}, (_, n) => signalbox.call('wait', n).then(() => 'handled', (e) => e.code)),
                        Promise.all(all.slice(100)).then((codes) => [...new Set(codes)]))
                        """
                    #expect(try await tab.evaluate(flood) == #"["full"]"#)
                    // No more than the window has left the page.
                    await gate.untilArrived(1)
                    gate.open()
                    #expect(
                        try await tab.evaluate("Promise.all(all.slice(0, 100)).then((codes) => [...new Set(codes)])")
                            == #"["handled"]"#
                    )
                }
            }
        }

        @Test func aPluginMayAskTheFloodingPage() async throws {
            let trial = try BrowserTrial(
                "signalbox.on('ask', (n) => n + 1);",
                configure: { $0.messagesInFlight = 4 }
            )
            let options = PluginOptions<Int>(maxConcurrent: 1)
            try trial.supervisor.register("work", as: Int.self, from: .script(), options: options) {
                (number: Int, context: ActionContext) async throws -> Int in
                guard let page = context.page else { return -1 }
                return try await page.call("ask", number, returning: Int.self, timeout: .seconds(60))
            }
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    let flood = """
                        Promise.all(Array.from({length: 300}, (_, n) => signalbox.call('work', n)))
                          .then((all) => all.every((reply, n) => reply === n + 1))
                        """
                    #expect(try await tab.evaluate(flood) == "true")
                }
            }
        }
    }
}
