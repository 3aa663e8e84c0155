import BrokerKit
import JSBridge
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import BrowserBridge

extension InChromium {
    /// Pages whose markup or scripts try to break the bridge.
    @Suite struct HostilePageTests {
        private static let text = BrowserScript.text(for: BrowserConfiguration(source: "browser"))
        private static let script = String(decoding: text, as: UTF8.self)
        private static let names = HostilePage.names(in: text)
        private static let listener = "signalbox.on('double', (n) => 2 * n)"
        private static let rename = """
            Object.getOwnPropertyDescriptor(Document.prototype, 'title').set.call(document, 'two')
            """

        /// Checks calls in both directions and the report of the title.
        private static func check(_ tab: ChromiumTab, _ trial: BrowserTrial, _ name: String) async throws {
            let call = "signalbox.call('report', '\(name)').then(() => 'handled', (error) => error.code)"
            #expect(try await tab.evaluate(call) == #""handled""#, "\(name)")
            let raw = "webkit.messageHandlers.report.postMessage('raw').then(() => 'handled', (error) => error.code)"
            #expect(try await tab.evaluate(raw) == #""handled""#, "\(name)")
            #expect(try await tab.evaluate("Object.hasOwn(globalThis, 'signalbox')") == "true", "\(name)")
            let page = try #require(trial.engine.pages.last)
            try await tab.evaluate("(\(listener), 1)")
            #expect(try await page.call("double", 4, returning: Int.self, timeout: .seconds(60)) == 8, "\(name)")
            try await tab.evaluate(rename)
            // The page sends the answer after the new title.
            #expect(try await page.call("double", 5, returning: Int.self, timeout: .seconds(60)) == 10, "\(name)")
            #expect(page.title == "two", "\(name)")
        }

        @Test func namedElementsDoNotBreakTheBridge() async throws {
            let sites = try TwoSites()
            defer { sites.close() }
            let (friend, stranger) = (sites.friend, sites.stranger)
            let trial = try BrowserTrial(configure: { configuration in
                configuration.origins = [sites.friendly]
                for element in HostilePage.Element.allCases {
                    let html = HostilePage.html(element, named: Self.names, url: "\(stranger.origin)/served")
                    configuration.documents["/\(element)"] = .page("<!doctype html><title>one</title>\(html)")
                }
            })
            #expect(Self.names.isSuperset(of: ["currentScript", "title", "head", "addEventListener", "signalbox"]))
            try await trial.run {
                let (port, fragment) = (try await trial.port(), try await trial.engine.fragment())
                try await Chromium.with { browser in
                    let tab = try await browser.openTab()
                    for element in HostilePage.Element.allCases {
                        let html = HostilePage.html(element, named: Self.names, url: "\(stranger.origin)/loaded")
                        let script = "<script src=\"http://127.0.0.1:\(port)/signalbox.js\"></script>"
                        friend.set("/\(element)", .html("<!doctype html><title>one</title>\(html)\(script)"))
                        try await tab.load("\(friend.origin)/\(element)#\(fragment)")
                        try await Self.check(tab, trial, "\(element) before the script")
                        try await tab.load(try await trial.url("/\(element)"))
                        try await Self.check(tab, trial, "\(element) after the script")
                    }
                    #expect(trial.reports.all.count == 4 * HostilePage.Element.allCases.count)
                    #expect(stranger.requests.contains { $0.hasPrefix("GET /loaded") })
                }
            }
            #expect(!stranger.requests.contains { $0.contains("signalbox.bearer") })
        }

        /// A `<base>` after a deferred script changes what the `src` property of its element returns.
        @Test func aBaseElementDoesNotRedirectTheToken() async throws {
            let sites = try TwoSites()
            defer { sites.close() }
            let (friend, stranger) = (sites.friend, sites.stranger)
            let trial = try BrowserTrial(configure: { $0.origins = [sites.friendly] })
            let script = Self.script
            friend.set("/signalbox.js", WebSite.Answer(headers: ["Content-Type": "text/javascript"], body: script))
            try await trial.run {
                let (port, fragment) = (try await trial.port(), try await trial.engine.fragment())
                let base = "<base href=\"\(stranger.origin)/\">"
                friend.set("/own", .html("<!doctype html><script defer src=\"/signalbox.js\"></script>\(base)"))
                let whole = "http://127.0.0.1:\(port)/signalbox.js"
                friend.set("/whole", .html("<!doctype html><script defer src=\"\(whole)\"></script>\(base)"))
                try await Chromium.with { browser in
                    let tab = try await browser.open("\(friend.origin)/own#\(fragment)")
                    try await friend.request(containing: "signalbox.bearer.")
                    try await tab.load("\(friend.origin)/whole#\(fragment)")
                    #expect(try await tab.evaluate("signalbox.call('report', 1).then(() => 1)") == "1")
                    // Relative to the `<base>`. Earlier requests have arrived when this one is answered.
                    try await tab.evaluate("fetch('/last', { mode: 'no-cors' }).then(() => 1)")
                    #expect(stranger.requests.map { $0.split(separator: " ")[1] } == ["/last"])
                }
            }
        }

        @Test func aScriptWithoutAURLReportsTheProblem() async throws {
            let friend = try WebSite()
            defer { friend.close() }
            var configuration = BrowserConfiguration(source: "browser")
            configuration.connectionTimeout = .milliseconds(1)
            let script = String(decoding: BrowserScript.text(for: configuration), as: UTF8.self)
            friend.set("/signalbox.js", WebSite.Answer(headers: ["Content-Type": "text/javascript"], body: script))
            friend.set("/inline", .html("<!doctype html><script>\(script)</script>"))
            friend.set("/module", .html("<!doctype html><script type=module src=\"/signalbox.js\"></script>"))
            let trouble = "load the bridge with <script src="
            let token = "signalbox=0123456789abcdef"
            try await Chromium.with { browser in
                for path in ["/inline", "/module"] {
                    let tab = try await browser.open("\(friend.origin)\(path)#\(token)&\(token)")
                    #expect(try await tab.evaluate("location.hash") == #""""#, "\(path)")
                    let call = "signalbox.call('x').catch((error) => error.code + ': ' + error.message)"
                    let error = try await tab.evaluate(call)
                    #expect(error.contains("closed: \(trouble)"), "\(path): \(error)")
                    try await tab.console(containing: "signalbox: \(trouble)")
                }
            }
            #expect(!friend.requests.contains { $0.contains("signalbox.bearer") })
        }

        /// Captures what the page uses later. The text is so long that the bridge must count its bytes.
        private static let before = """
            (() => {
              const { set } = Object.getOwnPropertyDescriptor(Document.prototype, 'title'), { apply } = Reflect;
              globalThis.rename = (title) => { apply(set, document, [title]); };
              globalThis.long = 'x'.repeat(30000);
              return 1;
            })()
            """

        /// More calls than may be in flight, so that some wait in the page.
        private static let calls = """
            (() => {
              signalbox.call('long', long);
              for (let n = 1; n <= 20; n += 1) globalThis.last = signalbox.call('n' + n, n);
              return 1;
            })()
            """

        /// Retries a call that is refused with `drain`, until the page has received the close of its last connection.
        private static let callAgain = """
            (globalThis.again = () => { signalbox.call('again', 1).then(() => 1, () => again()); }, again(), 1)
            """

        @Test func pollutedPrototypesDoNotBreakTheBridge() async throws {
            let reservation = try PortReservation()
            let trial = try BrowserTrial(
                "\(Self.listener);",
                configure: { configuration in
                    configuration.port = UInt16(reservation.port)
                    configuration.messagesInFlight = 2
                    configuration.reconnectCap = .milliseconds(50)
                }
            )
            let (first, second) = (RecordingIntake.answering(), RecordingIntake.answering())
            try await Chromium.with { browser in
                let run = Task { try await trial.engine.run(into: first) }
                defer { run.cancel() }
                let tab = try await browser.open(try await trial.url())
                _ = try await tab.evaluate("signalbox.call('begin').then(() => 1)")
                try await tab.evaluate(Self.before)
                try await tab.evaluate("(\(HostilePage.pollution.dropLast()), 1)")
                try await tab.evaluate(Self.calls)
                let expected = ["begin", "long"] + (1...20).map { "n\($0)" }
                #expect(await first.taken.first(22).map(\.name) == expected)
                let page = try #require(trial.engine.pages.first)
                try page.send("late", id: nil, body: Bytes("[1,[2]]"))
                #expect(try await page.call("double", 4, returning: Int.self, timeout: .seconds(60)) == 8)
                try await tab.evaluate("(signalbox.on('late', () => { rename('polluted'); }), 1)")
                // The page sends the answer after the new title.
                #expect(try await page.call("double", 5, returning: Int.self, timeout: .seconds(60)) == 10)
                #expect(page.title == "polluted")
                first.close()
                run.cancel()
                try await run.value
                try await Self.checkReconnect(tab, trial, second)
            }
            withExtendedLifetime(reservation) {}
        }

        /// Checks that a call that waits for the connection goes to the next run.
        private static func checkReconnect(
            _ tab: ChromiumTab,
            _ trial: BrowserTrial,
            _ intake: RecordingIntake
        ) async throws {
            let run = Task { try await trial.engine.run(into: intake) }
            defer { run.cancel() }
            try await tab.evaluate(Self.callAgain)
            #expect(await intake.taken.first(1).map(\.name) == ["again"])
            run.cancel()
            try await run.value
        }
    }
}

extension RecordingIntake {
    fileprivate static func answering() -> RecordingIntake {
        RecordingIntake { $0.settle(.handled(reply: Bytes("1"))) }
    }
}
