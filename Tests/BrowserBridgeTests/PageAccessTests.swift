import BrokerKit
import BrowserBridge
import Foundation
import JSBridge
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

extension InChromium {
    @Suite struct PageAccessTests {
        /// Returns a page of another origin that loads the bridge.
        private static func page(_ port: UInt16, _ more: String = "") -> String {
            "<!doctype html><head><title>one</title>"
                + "<script src=\"http://127.0.0.1:\(port)/signalbox.js\"></script></head><body>\(more)"
        }

        private static let settled = """
            signalbox.call('report', location.origin).then(() => 'handled', (error) => error.code + ': ' + error.message)
            """

        @Test func onlyPagesOfAllowedOriginsConnect() async throws {
            let sites = try TwoSites()
            defer { sites.close() }
            let (friend, stranger) = (sites.friend, sites.stranger)
            let trial = try BrowserTrial(configure: { configuration in
                configuration.origins = [sites.friendly]
                configuration.connectionTimeout = .milliseconds(500)
            })
            let any = AccessRule.script(origin: sites.friendly, mainFrameOnly: false)
            try trial.supervisor.register(Registration("framed", as: RawBody.self, from: any) { _, _ in 1 })
            try trial.supervisor.register(
                Registration("main", as: RawBody.self, from: .script(origin: sites.friendly)) { _, _ in 1 }
            )
            try await trial.run {
                let (port, fragment) = (try await trial.port(), try await trial.engine.fragment())
                for site in [friend, stranger] { site.set("/", .html(Self.page(port))) }
                try await Chromium.with { browser in
                    let tab = try await browser.open("\(friend.origin)/#\(fragment)")
                    // The page sends its first message when its connection is open, so calls do not wait for one.
                    while !Task.isCancelled, trial.engine.pages.first?.title == nil { await Task.yield() }
                    #expect(try await tab.evaluate(Self.settled) == #""handled""#)
                    #expect(try await tab.evaluate("signalbox.call('framed')") == "1")
                    // The engine cannot determine whether a page of another site is in a frame.
                    #expect(
                        try await tab.evaluate("signalbox.call('main').catch((e) => e.code)") == #""sourceNotAllowed""#
                    )
                    let foreign = try await browser.open("\(stranger.origin)/#\(fragment)")
                    await trial.waitForLog("is not among those allowed")
                    #expect(
                        try await foreign.evaluate(Self.settled) == #""closed: there is no connection to the program""#
                    )
                    #expect(trial.engine.counts.opened == 1 && trial.engine.counts.forbidden >= 1)
                    #expect(trial.reports.all == ["\"\(friend.origin)\""])
                }
            }
            #expect(trial.log.all.contains { $0.contains("is not among those allowed") })
        }

        @Test func framesCannotReachTheProgram() async throws {
            let sites = try TwoSites()
            defer { sites.close() }
            let (friend, stranger) = (sites.friend, sites.stranger)
            let trial = try BrowserTrial(configure: { configuration in
                configuration.origins = [sites.friendly]
                configuration.connectionTimeout = .seconds(5)
            })
            try await trial.run {
                let (port, fragment) = (try await trial.port(), try await trial.engine.fragment())
                let token = fragment.dropFirst("signalbox=".count)
                // Each frame reports two results: of the bridge, and of its own socket with a stolen token.
                let attempt = """
                    <script>
                    (async () => {
                      const told = globalThis.signalbox
                        ? await signalbox.call('report', 'frame').then(() => 'handled', (error) => error.message) : 'no bridge';
                      const socket = new WebSocket('ws://127.0.0.1:\(port)/signalbox', ['signalbox', 'signalbox.bearer.\(token)']);
                      const way = await new Promise((done) => {
                        socket.onopen = () => done('open');
                        socket.onerror = () => done('refused');
                      });
                      top.postMessage([location.href.split('#')[0], told, way], '*');
                    })();
                    </script>
                    """
                let frames = [
                    "<iframe src=\"\(stranger.origin)/frame#\(fragment)\"></iframe>",
                    "<iframe src=\"\(friend.origin)/frame#\(fragment)\"></iframe>",
                    "<iframe sandbox=\"allow-scripts\" src=\"\(friend.origin)/frame#\(fragment)\"></iframe>",
                ]
                let top =
                    "<script>const told = []; onmessage = (event) => told.push([event.origin, ...event.data]);</script>"
                friend.set("/", .html(Self.page(port, top + frames.joined())))
                for site in [friend, stranger] { site.set("/frame", .html(Self.page(port, attempt))) }
                try await Chromium.with { browser in
                    let tab = try await browser.open("\(friend.origin)/#\(fragment)")
                    let all = """
                        new Promise((done) => {
                          const look = () => { if (told.length === 3) done(told.map((t) => t.join(' ')).sort()); };
                          addEventListener('message', look);
                          look();
                        })
                        """
                    let inFrame = "a page in a frame cannot connect to the program"
                    let expected = [
                        "\(friend.origin) \(friend.origin)/frame \(inFrame) open",
                        "\(stranger.origin) \(stranger.origin)/frame \(inFrame) refused",
                        "null \(friend.origin)/frame \(inFrame) refused",
                    ].sorted()
                    let found = try Body(json: Bytes(try await tab.evaluate(all))).decode([String].self)
                    #expect(found == expected)
                    // The page has one connection. The frame of the same origin that stole the token has another.
                    #expect(try await tab.evaluate(Self.settled) == #""handled""#)
                    #expect(trial.reports.all == ["\"\(friend.origin)\""])
                }
            }
        }

        @Test func aServedPageCannotBeFramed() async throws {
            let stranger = try WebSite()
            defer { stranger.close() }
            let trial = try BrowserTrial("report('ready')")
            try await trial.run {
                stranger.set("/", .html("<!doctype html><iframe src=\"\(try await trial.url())\"></iframe>"))
                try await Chromium.with { browser in
                    let tab = try await browser.open("\(stranger.origin)/")
                    try await tab.console(containing: "frame-ancestors 'none'")
                    // All actions of the frame precede the load of the next page.
                    try await tab.load(try await trial.url())
                    _ = await trial.reports.first(1)
                    #expect(trial.reports.all.count == 1 && trial.engine.counts.opened == 1)
                }
            }
        }

        @Test func thePolicyBlocksForeignScriptsAndInlineCodeByDefault() async throws {
            for isAllowed in [false, true] {
                let stranger = try WebSite()
                stranger.set("/x.js", .html("globalThis.foreign = 1"))
                defer { stranger.close() }
                let trial = try BrowserTrial(configure: { configuration in
                    configuration.documents["/inline"] = .page(
                        "<script>globalThis.inline = 1</script><script src=\(stranger.origin)/x.js></script><p onclick=1>"
                    )
                    configuration.allowsInlineCode = isAllowed
                })
                try await trial.run {
                    try await Chromium.with { browser in
                        let tab = try await browser.open(try await trial.url("/inline"))
                        #expect(
                            try await tab.evaluate("[typeof inline, typeof foreign]")
                                == (isAllowed ? #"["number","undefined"]"# : #"["undefined","undefined"]"#)
                        )
                        #expect(try await tab.evaluate("signalbox.call('report', 1).then(() => 1)") == "1")
                        let elsewhere = """
                            new Promise((done) => {
                              addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective));
                              try { new WebSocket('ws://127.0.0.1:\(stranger.port)/'); } catch { done('threw'); }
                            })
                            """
                        #expect(try await tab.evaluate(elsewhere) == #""connect-src""#)
                    }
                }
            }
        }
    }
}

extension InChromium {
    @Suite struct SecurePageTests {
        @Test func overTLSThePagesOriginHasTheConfiguredHost() async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("browser-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (certificate, key) = (folder.path + "/certificate.pem", folder.path + "/key.pem")
            let openssl = try RunningProgram(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
                    certificate,
                ]
            )
            try #require(await openssl.status() == 0)
            let trial = try BrowserTrial(configure: { configuration in
                configuration.identity = WebSocketIdentity(certificateFile: certificate, keyFile: key)
                configuration.host = "localhost"
            })
            try await trial.run {
                let origin = try WebOrigin("https://localhost:\(try await trial.port())")
                try trial.supervisor.register(
                    Registration("own", as: RawBody.self, from: .script(origin: origin)) { _, _ in 1 }
                )
                try await Chromium.with { browser in
                    let tab = try await browser.openTab()
                    try await tab.command("Security.setIgnoreCertificateErrors", flags: ["ignore": true])
                    let url = try await trial.url()
                    #expect(url.hasPrefix("\(origin)/#signalbox="))
                    try await tab.load(url)
                    #expect(try await tab.evaluate("signalbox.call('own')") == "1")
                }
            }
        }
    }
}
