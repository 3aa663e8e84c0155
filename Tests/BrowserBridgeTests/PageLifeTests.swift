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
    @Suite struct PageLifeTests {
        @Test func theTokenIsRemovedFromTheURLAndSurvivesAReload() async throws {
            let trial = try BrowserTrial("report([location.hash, history.length]);")
            try await trial.run {
                try await Chromium.with { browser in
                    let url = try await trial.url("/?q=1")
                    let tab = try await browser.open(url + "&part")
                    _ = await trial.reports.first(1)
                    try await tab.reload()
                    _ = await trial.reports.first(2)
                    try await tab.load(url.prefix { $0 != "#" } + "")
                    let reports = await trial.reports.first(3)
                    #expect(reports[0].hasPrefix(##"["#part","##) && reports[1].hasPrefix(##"["#part","##))
                    #expect(reports[2].hasPrefix(#"["","#))
                    let entries = try await tab.evaluate("performance.getEntries().map((entry) => entry.name).join()")
                    let token = try await trial.engine.fragment()
                    #expect(!entries.contains(token.dropFirst("signalbox=".count)))
                    // Another tab has its own storage, and so no token.
                    let other = try await browser.open(String(url.prefix { $0 != "#" }))
                    let missing = try await other.evaluate("Object.keys(sessionStorage).length")
                    #expect(missing == "0")
                    // The fragment may change later, without a reload of the document.
                    try await other.load(url)
                    #expect(
                        try await other.evaluate("signalbox.call('report', 'late').then(() => location.hash)") == #""""#
                    )
                }
            }
        }

        @Test func aPageWithoutATokenFailsWithARemedy() async throws {
            let trial = try BrowserTrial(configure: { $0.connectionTimeout = .milliseconds(200) })
            try await trial.run {
                try await Chromium.with { browser in
                    let tab = try await browser.open(String(try await trial.url().prefix { $0 != "#" }))
                    let settled = "signalbox.call('report').catch((error) => error.code + ': ' + error.message)"
                    #expect(try await tab.evaluate(settled).contains("closed: open the page with the address"))
                    try await tab.load(try await trial.url().dropLast(2) + "xx")
                    // The browser does not wait until the page has processed its new fragment.
                    await trial.waitForLog("its token is unknown")
                    #expect(try await tab.evaluate(settled) == #""closed: there is no connection to the program""#)
                    #expect(trial.engine.counts.opened == 0 && trial.engine.counts.unauthorized >= 1)
                }
            }
        }

        @Test func aReloadIsANewPageAndEndsPendingCalls() async throws {
            let trial = try BrowserTrial(
                """
                signalbox.on('never', () => { report('asked'); return new Promise(() => {}); });
                signalbox.call('wait').catch(() => {});
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
                    _ = await trial.reports.first(1)
                    let first = try #require(trial.engine.pages.first)
                    let owed = Task { try await first.call("never", 1, timeout: .seconds(60)) }
                    await gate.untilArrived(1)
                    _ = await trial.reports.first(2)
                    try await tab.reload()
                    let error = await #expect(throws: PageCallError.self) { try await owed.value }
                    #expect(error?.code == .closed)
                    _ = await trial.reports.first(3)
                    #expect(throws: SendRefused.closed) { try first.send("never", id: nil, body: Bytes("1")) }
                    #expect(trial.engine.pages.count == 1 && trial.engine.pages.first !== first)
                    gate.open()
                }
            }
        }

        @Test func aLostConnectionRejectsCallsInFlightAndReconnects() async throws {
            let relay = try Relay()
            defer { relay.close() }
            let trial = try BrowserTrial(
                """
                let finish;
                signalbox.on('slow', () => new Promise((done) => { finish = done; report('asked'); }));
                signalbox.on('quick', () => { finish('too late'); return 'quick'; });
                report('ready');
                """,
                configure: { configuration in
                    configuration.reconnectCap = .milliseconds(50)
                    configuration.origins = ["http://127.0.0.1:\(relay.port)"].compactMap { try? WebOrigin($0) }
                }
            )
            let gate = Gate()
            try trial.supervisor.register(
                Registration("hold", as: RawBody.self, from: .source(BrowserTrial.source)) { _, _ in
                    await gate.pass()
                }
            )
            try await trial.run {
                relay.forward(to: try await trial.port())
                try await Chromium.with { browser in
                    let tab = try await browser.open(
                        "http://127.0.0.1:\(relay.port)/#\(try await trial.engine.fragment())"
                    )
                    _ = await trial.reports.first(1)
                    let first = try #require(trial.engine.pages.first)
                    let owed = Task { try await first.call("slow", 1, returning: String.self, timeout: .seconds(60)) }
                    try await tab.evaluate("(globalThis.held = signalbox.call('hold').catch((error) => error.code), 0)")
                    await gate.untilArrived(1)
                    _ = await trial.reports.first(2)
                    relay.cut()
                    #expect(try await tab.evaluate("held") == #""closed""#)
                    let error = await #expect(throws: PageCallError.self) { try await owed.value }
                    #expect(error?.code == .closed)
                    // The call is made without a connection, and waits for one.
                    try await tab.evaluate("(globalThis.waits = signalbox.call('report', 'again'), 0)")
                    relay.mend()
                    #expect(await trial.reports.first(3)[2] == #""again""#)
                    #expect(try await tab.evaluate("waits.then(() => 1)") == "1")
                    let second = try #require(trial.engine.pages.first)
                    #expect(second !== first)
                    // The page's late answer belongs to another connection.
                    #expect(try await second.call("quick", 1, returning: String.self, timeout: .seconds(60)) == "quick")
                    gate.open()
                }
            }
        }

        @Test func stoppingDrainsWaitingCallsAndAnotherRunContinues() async throws {
            let reservation = try PortReservation()
            let trial = try BrowserTrial(configure: { configuration in
                configuration.port = UInt16(reservation.port)
                configuration.reconnectCap = .milliseconds(50)
            })
            let first = RecordingIntake.holding(room: 1)
            let second = RecordingIntake()
            try await Chromium.with { browser in
                let run = Task { try await trial.engine.run(into: first) }
                let tab = try await browser.open(try await trial.url())
                let both = """
                    (globalThis.both = Promise.all(['taken', 'waits'].map((action) =>
                      signalbox.call(action).then((reply) => 'reply ' + reply, (e) => e.code + ' ' + e.outcome))), 0)
                    """
                try await tab.evaluate(both)
                let taken = await first.taken.first(1)[0]
                _ = await first.roomCalls.first(1)
                run.cancel()
                taken.settle(.handled(reply: Bytes("7")))
                // Like a supervisor, ends the wait for room.
                first.close()
                try await run.value
                #expect(try await tab.evaluate("both") == #"["reply 7","drain abandoned"]"#)
                let next = Task { try await trial.engine.run(into: second) }
                #expect(try await tab.evaluate("signalbox.call('again').then(() => 1)") == "1")
                #expect(second.taken.all.map(\.name) == ["again"])
                next.cancel()
                try await next.value
            }
            withExtendedLifetime(reservation) {}
        }

        @Test func closedPagesAreReleased() async throws {
            let trial = try BrowserTrial("signalbox.on('never', () => new Promise(() => {})); report('ready');")
            let gone = EventList<WeakPage>()
            try await trial.run {
                try await Chromium.with { browser in
                    let url = try await trial.url()
                    for number in 1...20 {
                        let tab = try await browser.open(url)
                        _ = await trial.reports.first(number)
                        let calls = try await Self.leave(tab, trial, gone)
                        #expect(calls == .closed)
                    }
                    #expect(trial.engine.pages.isEmpty)
                    #expect(trial.engine.counts.opened == 20 && trial.engine.counts.open == 0)
                }
            }
            #expect(gone.all.count { $0.page != nil } == 0)
        }

        private struct WeakPage: Sendable {
            weak let page: PageHandle?
        }

        // A separate function, so that no variable of the caller retains the page.
        private static func leave(
            _ tab: ChromiumTab,
            _ trial: BrowserTrial,
            _ gone: EventList<WeakPage>
        ) async throws -> PageCallError.Code? {
            let page = try #require(trial.engine.pages.first)
            gone.append(WeakPage(page: page))
            async let owed: Void = page.call("never", 1, timeout: .seconds(60))
            try await tab.close()
            do {
                try await owed
                return nil
            } catch let error as PageCallError {
                return error.code
            }
        }
    }
}
