import BrokerKit
import BrowserBridge
import JSBridge
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

extension InChromium {
    @Suite struct PageCallTests {
        private struct Broken: Error {}

        @Test func callsAndPostsAreAnswered() async throws {
            let trial = try BrowserTrial()
            try trial.supervisor.register(
                Registration("pay", as: Payment.self, from: .script()) { payment, _ in
                    Payment(amount: payment.amount + 1, currency: payment.currency)
                }
            )
            try trial.supervisor.register(Registration("nothing", as: RawBody.self, from: .script()) { _, _ in })
            try trial.supervisor.register(
                Registration("text", as: RawBody.self, from: .script()) { _, _ in "ä€😀\n\"\u{2028}" }
            )
            try trial.supervisor.register(
                Registration("page", as: String.self, from: .script()) { text, _ in "page \(text)" }
            )
            try trial.supervisor.register(
                Registration("look", as: RawBody.self, from: .script()) { _, context in
                    let left = context.deadline.map { $0 - .now } ?? .zero
                    return
                        "\(context.id) \(left > .seconds(30) && left <= .seconds(60)) \(context.page?.title ?? "none")"
                }
            )
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    for (expression, expected) in [
                        ("signalbox.call('pay', {amount: 3, currency: 'EUR'})", #"{"amount":4,"currency":"EUR"}"#),
                        ("signalbox.call('nothing').then((reply) => reply === undefined)", "true"),
                        ("signalbox.call('text')", "\"ä€😀\\n\\\"\u{2028}\""),
                        ("window.webkit.messageHandlers.page.postMessage('Close')", #""page Close""#),
                        (
                            "webkit.messageHandlers.any.postMessage({action: 'page', id: 'x', body: 'by action'})",
                            #""page by action""#
                        ),
                        ("signalbox.call('look', 1, {id: 'mine 1', timeout: 60000})", #""mine 1 true one""#),
                        ("typeof location.href + location.hash", #""string""#),
                    ] {
                        #expect(try await tab.evaluate(expression) == expected, "\(expression)")
                    }
                    #expect(tab.console.isEmpty, "\(tab.console)")
                }
            }
        }

        @Test func rulesApplyToTheOriginOfAServedPage() async throws {
            let trial = try BrowserTrial()
            try await trial.run {
                let origin = try WebOrigin("http://127.0.0.1:\(try await trial.port())")
                try trial.supervisor.register(
                    Registration("own", as: RawBody.self, from: .script(origin: origin)) { _, _ in 1 }
                )
                let other = try WebOrigin("http://127.0.0.1:1")
                try trial.supervisor.register(
                    Registration("other", as: RawBody.self, from: .script(origin: other)) { _, _ in 1 }
                )
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    #expect(try await tab.evaluate("signalbox.call('own')") == "1")
                    #expect(
                        try await tab.evaluate("signalbox.call('other').catch((error) => error.code)")
                            == #""sourceNotAllowed""#
                    )
                }
            }
        }

        @Test func eachFailureHasItsCode() async throws {
            let trial = try BrowserTrial(supervise: { $0.tick = .milliseconds(10) })
            let gate = Gate()
            let rule = AccessRule.script()
            try trial.supervisor.register(Registration("pay", as: Payment.self, from: rule) { _, _ in })
            try trial.supervisor.register(
                Registration("forbidden", as: RawBody.self, from: .source("other")) { _, _ in }
            )
            try trial.supervisor.register(
                Registration("throws", as: RawBody.self, from: rule) { _, _ in throw Broken() }
            )
            let short = PluginOptions<RawBody>(timeout: .milliseconds(200))
            try trial.supervisor.register(
                Registration("hangs", as: RawBody.self, from: rule, options: short) { _, _ in
                    await gate.pass()
                }
            )
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    for (call, expected) in [
                        ("call('nobody')", "unknownAction rejected undefined"),
                        ("call('pay', {amount: 'three', currency: 'EUR'})", "invalidBody rejected body.amount"),
                        ("call('forbidden')", "sourceNotAllowed rejected undefined"),
                        ("call('not a name')", "malformed rejected action"),
                        ("call('signalbox.connected')", "malformed rejected action"),
                        ("call('pay', 'x'.repeat(70000))", "malformed rejected undefined"),
                        ("call('pay', '€'.repeat(30000))", "malformed rejected undefined"),
                        ("call('pay', null, {id: 'x'.repeat(129)})", "malformed rejected id"),
                        ("call('throws')", "threw failed undefined"), ("call('hangs')", "timeout failed undefined"),
                        ("call('pay', () => 1)", "invalidArgument undefined body"),
                        ("call('open', 1, {timeout: 0})", "invalidArgument undefined timeout"),
                    ] {
                        let settled = "signalbox.\(call).catch((e) => `${e.code} ${e.outcome} ${e.path}`)"
                        #expect(try await tab.evaluate(settled) == "\"\(expected)\"", "\(call)")
                    }
                    for handler in ["'no name'", "'x'.repeat(65)", "'a\\nb'", "'\\ud800'", "'signalbox.closed'", "''"] {
                        let post = "webkit.messageHandlers[\(handler)].postMessage(1).catch((e) => e.code)"
                        #expect(try await tab.evaluate(post) == #""malformed""#, "\(handler)")
                    }
                    // The connection is still the first one.
                    #expect(trial.engine.counts.opened == 1)
                    gate.open()
                }
            }
            #expect(trial.supervisor.deadLetters.letters.contains { $0.original.text == #"{"action":"nobody"}"# })
        }

        @Test func twoCallsWithTheSameIDBothSettle() async throws {
            let trial = try BrowserTrial()
            let gate = Gate()
            try trial.supervisor.register(
                Registration("wait", as: Int.self, from: .script()) { number, context in
                    await gate.pass()
                    return "\(number) \(context.id)"
                }
            )
            try trial.supervisor.register(
                Registration("open", as: RawBody.self, from: .script()) { _, _ in gate.open() }
            )
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    let both = """
                        (() => {
                          const calls = [1, 2].map((number) => signalbox.call('wait', number, {id: 'same'}));
                          return signalbox.call('open').then(() => Promise.all(calls));
                        })()
                        """
                    #expect(try await tab.evaluate(both) == #"["1 same","2 same"]"#)
                }
            }
        }

        @Test func eachPageReceivesOnlyItsOwnMessages() async throws {
            let trial = try BrowserTrial()
            try trial.supervisor.register(
                Registration("who", as: String.self, from: .script()) { name, context in
                    try context.page?.send("hello", id: nil, body: Bytes("\"\(name)\""))
                }
            )
            try await trial.run {
                try await Chromium.with { browser in
                    let url = try await trial.url()
                    let tabs = [try await browser.open(url), try await browser.openTab(isPrivate: true)]
                    try await tabs[1].load(url)
                    for (name, tab) in zip(["one", "two"], tabs) {
                        let heard =
                            "new Promise((heard) => { signalbox.on('hello', heard); signalbox.call('who', '\(name)'); })"
                        #expect(try await tab.evaluate(heard) == "\"\(name)\"")
                    }
                    #expect(trial.engine.pages.count == 2)
                }
            }
        }
    }
}

extension InChromium {
    @Suite struct PageFloodTests {
        private static let count = 5_000

        @Test func aFloodIsBoundedAndKeepsItsOrder() async throws {
            let trial = try BrowserTrial(
                configure: { $0.messagesInFlight = 16 },
                window: WindowLimits(arrivals: 8)
            )
            let numbers = EventList<Int>()
            try trial.supervisor.register(
                Registration("count", as: Int.self, from: .script()) { number, _ in
                    numbers.append(number)
                }
            )
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

        @Test func callsBeyondTheQueueAreRefusedInThePage() async throws {
            let trial = try BrowserTrial(configure: { configuration in
                configuration.messagesWaitingInPage = 100
                configuration.messagesInFlight = 10
            })
            let gate = Gate()
            try trial.supervisor.register(
                Registration("wait", as: Int.self, from: .script()) { _, _ in await gate.pass() }
            )
            try trial.supervisor.register(
                Registration("open", as: RawBody.self, from: .script()) { _, _ in gate.open() }
            )
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    let flood = """
                        (globalThis.all = Array.from({length: 1000}, (_, n) => signalbox.call('wait', n).then(() => 'handled', (e) => e.code)),
                        Promise.all(all.slice(100)).then((codes) => [...new Set(codes)]))
                        """
                    #expect(try await tab.evaluate(flood) == #"["full"]"#)
                    // No more calls than the window allows have left the page.
                    await gate.untilArrived(1)
                    gate.open()
                    #expect(
                        try await tab.evaluate("Promise.all(all.slice(0, 100)).then((codes) => [...new Set(codes)])")
                            == #"["handled"]"#
                    )
                }
            }
        }

        @Test func aPluginCanCallAFloodingPage() async throws {
            let trial = try BrowserTrial(
                "signalbox.on('ask', (n) => n + 1);",
                configure: { $0.messagesInFlight = 4 }
            )
            let options = PluginOptions<Int>(maxConcurrent: 1)
            try trial.supervisor.register(
                Registration("work", as: Int.self, from: .script(), options: options) {
                    (number: Int, context: ActionContext) async throws -> Int in
                    guard let page = context.page else { return -1 }
                    return try await page.call("ask", number, returning: Int.self, timeout: .seconds(60))
                }
            )
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
