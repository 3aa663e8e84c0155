#if WebKitGTK
import BrokerKit
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

extension WebKitGTKTests {
    /// Pages whose markup or scripts try to break the bridge.
    @Suite struct HostilePageTests {
        private static let names = [
            PackageResources.bridge_js, PackageResources.page_js, PackageResources.relay_js,
            Array(WebViewScripts.keepScale.utf8),
        ].map(HostilePage.names(in:)).reduce(Set<String>()) { $0.union($1) }

        /// The first element of the page, so that an error fails the test at once.
        private static let faults = """
            <script>addEventListener('error', (event) => { signalbox.call('report', event.message); });</script>
            """

        private static let listener = "signalbox.on('double', (n) => 2 * n);"

        /// Reports `true` and 2, or the error.
        private static let script = """
            \(listener)
            report(Object.hasOwn(globalThis, 'signalbox'))
              .then(() => webkit.messageHandlers.user.postMessage(1))
              .then(report)
              .catch((error) => report(String(error)));
            """

        private static func trial(_ script: String, _ html: String = "") throws -> WebTrial {
            let trial = try WebTrial(
                home: ["/": WebTrial.page(script, faults + html)],
                build: {
                    $0.set(disableZoom: true)
                    $0.add(handler: BridgeHandler("user"))
                },
                // A page may have a frame for each name.
                configure: { $0.navigationsWaiting = 1_000 }
            )
            let home = try WebOrigin(trial.home.origin)
            try trial.supervisor.register(
                Registration("user", as: Int.self, from: .script(origin: home)) { number, _ in number + 1 }
            )
            return trial
        }

        private static func check(_ trial: WebTrial, reports expected: [String] = ["true", "2"]) async throws {
            let reports = await trial.reports.wait { $0.count >= expected.count || !expected.starts(with: $0) }
            #expect(reports == expected)
            let page = trial.engine.page
            #expect(try await page.call("double", 4, returning: Int.self, timeout: .seconds(300)) == 8)
        }

        @Test(arguments: HostilePage.Element.allCases)
        func namedElementsDoNotBreakTheBridge(element: HostilePage.Element) async throws {
            let html = HostilePage.html(element, named: Self.names, url: "data:,")
            let trial = try Self.trial("addEventListener('load', () => {\n\(Self.script)\n});", html)
            #expect(Self.names.isSuperset(of: ["addEventListener", "dispatchEvent", "querySelector", "webkit"]))
            try await trial.run {
                try await Self.check(trial)
                let content = "Document.prototype.querySelector.call(document, 'meta[name=viewport]').content"
                #expect(try await trial.engine.evaluate(content).contains("user-scalable=no"))
            }
        }

        /// When a page reopens its document, the scripts are injected again or listen again. A page can do so only
        /// after the parser has ended.
        @Test func aReopenedDocumentWithNamedElementsKeepsItsBridge() async throws {
            let html = HostilePage.Element.allCases.map { HostilePage.html($0, named: Self.names, url: "data:,") }
            let trial = try Self.trial(
                """
                const { open, write, close } = Document.prototype;
                addEventListener('load', () => setTimeout(() => {
                  let isHeard = false;
                  document.addEventListener('probe', () => { isHeard = true; });
                  open.call(document);
                  document.dispatchEvent(new Event('probe'));
                  write.call(document, `\(html.joined())`);
                  close.call(document);
                  addEventListener('error', (event) => { report(event.message); });
                  if (isHeard) report('not opened');
                  \(Self.script)
                }, 0));
                """
            )
            try await trial.run { try await Self.check(trial) }
        }

        @Test func pollutedPrototypesDoNotBreakTheBridge() async throws {
            let trial = try Self.trial(
                """
                const { then } = Promise.prototype, { apply } = Reflect;
                const failed = (promise, listener) => apply(then, promise, [undefined, listener]);
                \(Self.listener)
                \(HostilePage.pollution)
                \(HostilePage.thenPollution)
                for (let n = 1; n <= 20; n += 1) report(n);
                failed(signalbox.call('none'), (error) => { report(error.code); });
                """
            )
            try await trial.run {
                let expected = (1...20).map(String.init) + [#""unknownAction""#]
                try await Self.check(trial, reports: expected)
                try trial.engine.page.send("late", id: nil, body: Bytes("[1,[2]]"))
                _ = try await trial.engine.evaluate("signalbox.on('late', () => { report(22); }); 0")
                try await Self.check(trial, reports: expected + ["22"])
            }
        }

        /// The page itself sends nothing afterwards, because its first call would make it listen again.
        @Test func aReopenedDocumentInAPollutedRealmReceivesMessages() async throws {
            let trial = try Self.trial(
                "\(Self.listener) addEventListener('load', () => setTimeout(() => { report(1); }, 0));"
            )
            let reopen = """
                (() => {
                  const { open, write, close } = Document.prototype, { dispatchEvent } = EventTarget.prototype;
                  const { apply } = Reflect, probe = new Event('probe');
                  let isHeard = false;
                  document.addEventListener('probe', () => { isHeard = true; });
                  \(HostilePage.pollution)
                  \(HostilePage.thenPollution)
                  apply(open, document, []);
                  apply(dispatchEvent, document, [probe]);
                  apply(write, document, ['<!doctype html><title>two</title>']);
                  apply(close, document, []);
                  return isHeard ? 'not opened' : 'opened';
                })()
                """
            try await trial.run {
                try await Self.check(trial, reports: ["1"])
                #expect(try await trial.engine.evaluate(reopen) == "opened")
                try await Self.check(trial, reports: ["1"])
            }
        }
    }
}

extension WebKitGTKTests {
    /// One page floods its view while another view still works.
    @Suite struct FloodTests {
        private static let pages = [
            "/": WebTrial.page(
                "report(0); let n = 0; signalbox.on('next', () => { location.href = '/?' + (n += 1); });"
            )
        ]

        @Test(arguments: ["{ i }", "'x'.repeat(4000000)", "Array(100000).fill([1, { a: 2 }])"])
        func rawCallsOfAForeignPageDoNotBlockAnotherView(value: String) async throws {
            let flood = try WebTrial(
                home: ["/": WebTrial.page("location.href = '{other}/flood';")],
                other: [
                    "/flood": .html(
                        """
                        <script>
                        const turn = () => {
                          for (let i = 0; i < 1000; i += 1) {
                            webkit.messageHandlers.pay.postMessage(\(value)).catch(() => {});
                          }
                          setTimeout(turn);
                        };
                        turn();
                        </script>
                        """
                    )
                ],
                build: { $0.add(handler: BridgeHandler("pay")) },
                configure: Self.shortenGracefulClose
            )
            try await flood.run {
                try await flood.other.request(containing: "/flood")
                while flood.supervisor.report.total.rejected == 0, !Task.isCancelled { await Task.yield() }
                try await Self.navigate()
                await flood.waitForLog("posts too much to handlers")
                #expect(flood.supervisor.report.total.handled == 0)
            }
            #expect(flood.supervisor.report.unsettled == 0)
        }

        @Test(arguments: [
            "document.title = 'title ' + i", "location.hash = i", "alert(i)",
            "console.error(i); reportError(new Error(i))",
            "document.body.append(document.createElement('iframe'))",
        ])
        func endlessPageActivityDoesNotBlockAnotherView(statement: String) async throws {
            let flood = try WebTrial(
                home: [
                    "/": WebTrial.page(
                        """
                        report('flood');
                        let i = 0;
                        const turn = () => {
                          for (const end = i + 100; i < end; i += 1) { \(statement); }
                          setTimeout(turn);
                        };
                        addEventListener('load', turn);
                        """
                    )
                ],
                configure: Self.shortenGracefulClose
            )
            try await flood.run {
                _ = await flood.reports.first(1)
                try await Self.navigate()
            }
            #expect(flood.supervisor.report.unsettled == 0)
        }

        @Test func aTrustedPagesCallsWaitInThePage() async throws {
            let flood = try WebTrial(
                home: [
                    "/": WebTrial.page(
                        """
                        report('flood');
                        const turn = () => {
                          for (let i = 0; i < 1000; i += 1) signalbox.call('slow', i).catch(() => {});
                          setTimeout(turn);
                        };
                        turn();
                        """
                    )
                ],
                configure: {
                    Self.shortenGracefulClose(&$0)
                    $0.messagesInFlight = 20
                    $0.messagesWaitingInPage = 500
                }
            )
            let gate = Gate()
            try flood.supervisor.register(
                Registration("slow", as: Int.self, from: .script()) { _, _ in await gate.pass() }
            )
            try await flood.run {
                await gate.untilArrived(1)
                try await Self.navigate()
                #expect(flood.supervisor.report.unsettled <= 20)
                while flood.engine.counts.callsFullInPage == 0, !Task.isCancelled { await Task.yield() }
                gate.open()
            }
        }

        /// Shortens the wait for the graceful close, which a flooding page may never complete.
        private static func shortenGracefulClose(_ configuration: inout WebViewConfiguration) {
            configuration.gracefulCloseTimeout = .seconds(2)
        }

        /// Leads the page of another view through ten documents.
        private static func navigate() async throws {
            let calm = try WebTrial(home: pages)
            try await calm.run {
                for count in 1...10 {
                    _ = await calm.reports.first(count)
                    try calm.engine.page.send("next", id: nil, body: Bytes("1"))
                }
                _ = await calm.reports.first(11)
            }
        }
    }
}
#endif
