#if WebKitGTK
import BrokerKit
import Logging
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

extension WebKitGTKTests {
    @Suite struct BridgeInViewTests {
        @Test func aCallCarriesThePagesOriginAndIsAnswered() async throws {
            let trial = try WebTrial(home: [
                "/": WebTrial.page(
                    "signalbox.call('double', { n: 21 }).then(report, (error) => report(error.message));"
                )
            ])
            let origins = EventList<ScriptFacts>()
            struct Number: Decodable { let n: Int }
            try trial.supervisor.register(
                Registration("double", as: Number.self, from: .script()) { number, context in
                    if let facts = context.origin.facts as? ScriptFacts { origins.append(facts) }
                    return number.n * 2
                }
            )
            try await trial.run { #expect(await trial.reports.first(1) == ["42"]) }
            let expected = ScriptFacts(
                engine: "WebKitGTK",
                isMainFrame: .yes,
                origin: try WebOrigin(trial.home.origin)
            )
            #expect(origins.all == [expected])
        }

        @Test func postMessageToAHandlerSettlesItsPromise() async throws {
            let trial = try WebTrial(
                home: [
                    "/": WebTrial.page(
                        """
                        const { user, page } = webkit.messageHandlers;
                        (async () => {
                          report(Object.keys(webkit.messageHandlers));
                          report(await user.postMessage({ text: 'größe 🙂', list: [1, 2.5, null, true] }));
                          report(await page.postMessage('Close').catch(code));
                          report(await page.postMessage(() => 1).catch(code));
                        })();
                        """
                    )
                ],
                build: {
                    $0.add(handler: BridgeHandler("user", action: "user.saved"))
                    $0.add(handler: BridgeHandler("page"))
                }
            )
            try trial.supervisor.register(
                Registration("user.saved", as: RawBody.self, from: .script()) { body, _ in
                    body.bytes.text ?? ""
                }
            )
            try await trial.run {
                let reports = await trial.reports.first(4)
                #expect(reports[0] == #"["user","page"]"#)
                #expect(reports[1] == #""{\"text\":\"größe 🙂\",\"list\":[1,2.5,null,true]}""#)
                #expect(reports[2...] == [#""unknownAction""#, #""invalidArgument""#])
            }
        }

        // The engine releases its own object, with everything defined on it, when no script retains it.
        @Test func theBridgesHandlersSurviveGarbageCollection() async throws {
            let trial = try WebTrial(
                home: [
                    "/": WebTrial.page(
                        """
                        let garbage;
                        async function collect() {
                          const probe = new WeakRef({});
                          while (probe.deref()) {
                            for (let n = 0; n < 100000; n++) garbage = [n, { n }];
                            await new Promise((done) => setTimeout(done));
                          }
                        }
                        (async () => {
                          for (let n = 0; n < 10; n++) await collect();
                          report(await webkit.messageHandlers.user.postMessage(1).catch(String));
                        })();
                        """
                    )
                ],
                build: { $0.add(handler: BridgeHandler("user")) }
            )
            let home = try WebOrigin(trial.home.origin)
            try trial.supervisor.register(
                Registration("user", as: Int.self, from: .script(origin: home)) { number, _ in number + 1 }
            )
            try await trial.run { #expect(await trial.reports.first(1) == ["2"]) }
        }

        @Test func theProgramSendsMessagesAndCallsToThePage() async throws {
            let trial = try WebTrial(home: [
                "/": WebTrial.page(
                    """
                    signalbox.on('sum', (numbers) => numbers.reduce((a, b) => a + b));
                    signalbox.on('fail', () => { throw new Error('no'); });
                    signalbox.on('told', (body, { id }) => { report([body, id]); });
                    report('ready');
                    """
                )
            ])
            try await trial.run {
                try trial.engine.page.send("told", id: ActionID("first"), body: Bytes("1"))
                let sum = try await trial.engine.page.call(
                    "sum",
                    [1, 2, 3],
                    returning: Int.self,
                    timeout: .seconds(600)
                )
                #expect(sum == 6)
                let error = await #expect(throws: PageCallError.self) {
                    try await trial.engine.page.call("fail", 1, timeout: .seconds(600))
                }
                #expect(error?.code == .threw)
                #expect(Set(await trial.reports.first(2)) == [#""ready""#, #"[1,"first"]"#])
            }
        }

        @Test func theBridgeLoadsFirstAndTheZoomScriptLast() async throws {
            let trial = try WebTrial(
                home: [
                    "/": WebTrial.page(
                        """
                        report([typeof signalbox.call, document.readyState, document.visibilityState]);
                        addEventListener('load', () => report(document.querySelector('meta[name=viewport]').content));
                        """
                    )
                ],
                build: { $0.set(disableZoom: true) }
            )
            try await trial.run {
                let reports = await trial.reports.first(2)
                #expect(reports[0] == #"["function","loading","visible"]"#)
                #expect(reports[1].contains("user-scalable=no"))
            }
        }

        @Test func titleAndUserAgentMatchTheConfiguration() async throws {
            let trial = try WebTrial(
                home: ["/": WebTrial.page("addEventListener('load', () => report(navigator.userAgent));")],
                build: {
                    $0.set(title: "Shop")
                    $0.set(userAgentSuffix: "Shop/3.2")
                }
            )
            #expect(trial.engine.page.title == "Shop")
            try await trial.run {
                #expect(await trial.reports.first(1)[0].hasSuffix(#" Shop/3.2""#))
                #expect(trial.home.requests[0].contains(" Shop/3.2\r\n"))
                _ = try await trial.engine.evaluate("document.title = 'Cart'; report(1); 0")
                _ = await trial.reports.first(2)
                // The title does not travel with messages, so this waits for it with further evaluations.
                while trial.engine.page.title != "Cart" { _ = try await trial.engine.evaluate("0") }
            }
        }

        @Test func scriptErrorsAreLoggedAndCounted() async throws {
            let trial = try WebTrial(home: [
                "/": WebTrial.page("setTimeout(() => { nothing(); }); Promise.reject(new Error('lost')); report(1);")
            ])
            try await trial.run {
                await trial.waitForLog("nothing")
                await trial.waitForLog("lost")
                #expect(trial.engine.scriptErrors == 2)
            }
        }

        @Test func aSnapshotIsAPNGOfTheView() async throws {
            let trial = try WebTrial(
                home: ["/": WebTrial.page("addEventListener('load', () => report(innerWidth));", "<body bgcolor=red>")],
                configure: { $0.display = .offscreen(width: 320, height: 200) }
            )
            let early = await #expect(throws: JSBridgeError.self) { try await trial.engine.snapshot() }
            #expect(early?.code == .notRunning)
            try await trial.run {
                #expect(await trial.reports.first(1) == ["320"])
                let picture = try await trial.engine.snapshot()
                #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
                // The first chunk holds width and height (ISO/IEC 15948, section 11.2.2).
                #expect(Array(picture[16..<24]) == [0, 0, 1, 64, 0, 0, 0, 200])
            }
        }

        @Test func aWindowHasTheConfiguredSizeAndClosesWithThePage() async throws {
            let trial = try WebTrial(
                home: ["/": WebTrial.page("addEventListener('load', () => report(innerWidth));")],
                configure: { $0.display = .window(width: 400, height: 300) }
            )
            try await trial.run {
                #expect(await trial.reports.first(1) == ["400"])
                trial.engine.page.close()
            }
        }

        @Test func thousandsOfMessagesKeepTheirOrder() async throws {
            let trial = try WebTrial(home: [
                "/": WebTrial.page(
                    """
                    for (let i = 0; i < 5000; i += 1) signalbox.call('number', i);
                    signalbox.call('number', -1).then(() => report('done'));
                    """
                )
            ])
            let numbers = EventList<Int>()
            try trial.supervisor.register(
                Registration("number", as: Int.self, from: .script()) { number, _ in numbers.append(number)
                }
            )
            try await trial.run { _ = await trial.reports.first(1) }
            #expect(numbers.all == Array(0..<5_000) + [-1])
        }
    }
}
#endif
