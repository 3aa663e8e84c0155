import BrokerKit
import JSBridge
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

@testable import BrowserBridge

extension InChromium {
    @Suite struct ProgramCallTests {
        private static let listeners = """
            signalbox.on('double', (n) => 2 * n);
            signalbox.on('later', async (n) => { await new Promise((done) => setTimeout(done, 1)); return { n }; });
            signalbox.on('nothing', () => {});
            signalbox.on('throws', () => { throw new Error('on purpose'); });
            signalbox.on('nan', () => ({ a: NaN }));
            signalbox.on('large', () => '€'.repeat(30000));
            signalbox.on('never', () => new Promise(() => {}));
            signalbox.on('tell', (body, info) => { report([body, info]); });
            signalbox.on('rename', (title) => { document.title = title; });
            report('ready');
            """

        private static func page(_ trial: BrowserTrial) async throws -> PageHandle {
            _ = await trial.reports.first(1)
            return try #require(trial.engine.pages.first)
        }

        @Test func thePageAnswersTheProgram() async throws {
            let trial = try BrowserTrial(Self.listeners)
            try await trial.run {
                try await Chromium.with { browser in
                    _ = try await browser.open(try await trial.url())
                    let page = try await Self.page(trial)
                    let long: Duration = .seconds(60)
                    #expect(try await page.call("double", 4, returning: Int.self, timeout: long) == 8)
                    #expect(try await page.call("later", 5, returning: [String: Int].self, timeout: long) == ["n": 5])
                    #expect(try await page.call("nothing", 6, returning: Int?.self, timeout: long) == nil)
                    for (action, code, detail, timeout) in [
                        ("throws", "threw", "Error: on purpose", long),
                        ("nan", "invalidReply", "reply.a: number has no JSON form", long),
                        ("large", "invalidReply", "65536 bytes", long), ("never", "timeout", "", .milliseconds(50)),
                        ("nobody", "timeout", "", .milliseconds(50)),
                    ] as [(ActionName, String, String, Duration)] {
                        let error = await #expect(throws: PageCallError.self) {
                            try await page.call(action, 1, returning: Int.self, timeout: timeout)
                        }
                        #expect(error?.code.description == code, "\(action)")
                        #expect(error?.detail.contains(detail) == true, "\(String(describing: error))")
                    }
                    #expect(throws: SendRefused.invalid) {
                        try page.send("tell", id: nil, body: Bytes([0x22, 0xFF, 0x22]))
                    }
                    let large = Bytes("\"" + String(repeating: "x", count: 65_535) + "\"")
                    #expect(throws: SendRefused.tooLarge) { try page.send("tell", id: nil, body: large) }
                    // The errors before did not end the connection.
                    try page.send("tell", id: ActionID("id \"1\"\n"), body: Bytes(#"{"a":[1,"ä"]}"#))
                    try page.send("tell", id: nil, body: Bytes("null"))
                    #expect(
                        await trial.reports.first(3)[1...] == [
                            #"[{"a":[1,"ä"]},{"action":"tell","id":"id \"1\"\n"}]"#, #"[null,{"action":"tell"}]"#,
                        ]
                    )
                    #expect(trial.engine.counts.opened == 1)
                }
            }
        }

        @Test func theTitleFollowsTheDocument() async throws {
            let trial = try BrowserTrial(Self.listeners)
            try await trial.run {
                try await Chromium.with { browser in
                    _ = try await browser.open(try await trial.url())
                    let page = try await Self.page(trial)
                    #expect(page.title == "one")
                    for title in ["two \u{1F600} \"x\"", "", String(repeating: "\u{1F600}", count: 3_000)] {
                        // The second answer follows the report of the title, which the browser sends first.
                        try await page.call("rename", title, timeout: .seconds(60))
                        try await page.call("later", 1, timeout: .seconds(60))
                        #expect(page.title == (title.isEmpty ? nil : String(title.prefix(500))))
                    }
                }
            }
        }

        @Test func messagesWithoutAListenerAreBounded() async throws {
            let trial = try BrowserTrial("report('ready');", configure: { $0.messagesWithoutListener = 2 })
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    let page = try await Self.page(trial)
                    for number in 1...3 { try page.send("late", id: nil, body: Bytes("\(number)")) }
                    try await tab.console(containing: "too many messages await a listener; dropped: late")
                    try await tab.evaluate("(signalbox.on('late', report), 0)")
                    #expect(await trial.reports.first(3)[1...] == ["2", "3"])
                }
            }
        }

        @Test func aPageClosedByTheProgramStaysClosed() async throws {
            let trial = try BrowserTrial(
                """
                signalbox.on('never', () => { report('asked'); return new Promise(() => {}); });
                var pending = signalbox.call('wait').catch((error) => error.code);
                report('ready');
                """
            )
            let gate = Gate()
            try trial.supervisor.register(
                Registration("wait", as: RawBody.self, from: .script()) { _, _ in await gate.pass() }
            )
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    let page = try await Self.page(trial)
                    await gate.untilArrived(1)
                    let owed = Task { try await page.call("never", 1, timeout: .seconds(60)) }
                    _ = await trial.reports.first(2)
                    page.close()
                    let error = await #expect(throws: PageCallError.self) { try await owed.value }
                    #expect(error?.code == .closed)
                    #expect(throws: SendRefused.closed) { try page.send("tell", id: nil, body: Bytes("1")) }
                    #expect(try await tab.evaluate("pending") == #""closed""#)
                    #expect(
                        try await tab.evaluate("signalbox.call('report', 2).catch((e) => e.code + ': ' + e.message)")
                            == #""closed: the program closed the page""#
                    )
                    #expect(trial.engine.pages.isEmpty && trial.engine.counts.opened == 1)
                    gate.open()
                    // Only the user can open the page again.
                    try await tab.reload()
                    _ = await trial.reports.first(3)
                    #expect(trial.engine.counts.opened == 2)
                }
            }
        }
    }
}
