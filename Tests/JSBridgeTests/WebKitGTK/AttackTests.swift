#if WebKitGTK
import BrokerKit
import Foundation
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

extension WebKitGTKTests {
    /// Pages and frames outside the home site call its payment plugin by every route that their world offers.
    @Suite struct AttackTests {
        /// Calls every route and reports each result to the other site.
        static let script = """
            const steal = { amount: 1 }, json = JSON.stringify({ action: 'pay', body: steal });
            const record = 'call 1 0 ' + json.length + '\\n\\n' + json;
            const hello = '0123456789abcdef {home}\\nhello\\n\\n\\n' + record;
            const event = () => new CustomEvent('signalbox:up', { detail: record, cancelable: true });
            const heard = (isUnheard) => { throw new Error(isUnheard ? 'unheard' : 'HEARD'); };
            const child = () => document.documentElement.appendChild(document.createElement('iframe')).contentWindow;
            const routes = {
              native: () => webkit.messageHandlers.pay.postMessage(steal),
              nativeText: () => webkit.messageHandlers.pay.postMessage(json),
              nativeOfChild: () => child().webkit.messageHandlers.pay.postMessage(steal),
              bridge: () => signalbox.call('pay', steal),
              bridgeOfChild: () => child().signalbox.call('pay', steal),
              ofOpener: () => opener.signalbox.call('pay', steal),
              relay: () => webkit.messageHandlers.signalbox.postMessage(hello),
              relayOfChild: () => child().webkit.messageHandlers.signalbox.postMessage(hello),
              relayFunction: () => signalboxRelay('0123456789abcdef', 9, 9, 9, '[]'),
              event: () => heard(document.dispatchEvent(event())),
              windowEvent: () => heard(dispatchEvent(event())),
              eventOfChild: () => heard(child().document.dispatchEvent(event())),
              worker: () => new Promise((done, failed) => {
                const worker = new Worker(URL.createObjectURL(new Blob([
                  'try { webkit.messageHandlers.pay.postMessage(1); postMessage("CALLED"); } catch (e) { postMessage("" + e); }',
                ])));
                worker.onmessage = ({ data }) => failed(data);
                worker.onerror = () => failed('worker');
              }),
            };
            const upward = {
              nativeOfParent: () => parent.webkit.messageHandlers.pay.postMessage(steal),
              nativeOfTop: () => top.webkit.messageHandlers.pay.postMessage(steal),
              bridgeOfParent: () => parent.signalbox.call('pay', steal),
              bridgeOfTop: () => top.signalbox.call('pay', steal),
              eventOfParent: () => heard(parent.document.dispatchEvent(event())),
              scriptOfTop: () => { top.location = 'javascript:signalbox.call("pay", { amount: 1 })'; throw new Error('unheard'); },
              message: () => { for (const to of [parent, top]) to.postMessage(record, '*'); throw new Error('unheard'); },
            };
            async function attack(name, isInside) {
              const told = {};
              for (const [route, go] of Object.entries(isInside ? { ...routes, ...upward } : routes)) {
                try { told[route] = 'RESOLVED ' + await go(); } catch (error) { told[route] = String(error).slice(0, 80); }
              }
              new Image().src = '{other}/told?' + encodeURIComponent(name + ' ' + JSON.stringify(told));
            }
            """

        /// One attack: the home site's page, and the pages to which it leads.
        struct Attack: Sendable, CustomTestStringConvertible {
            let testDescription: String
            var home = ""
            var script = ""
            var headers: [String: String] = [:]
            var answers: [String: WebSite.Answer] = [:]
            /// Whether the view still shows the home page afterwards.
            var staysHome = true
        }

        private static func attacker(isInside: Bool) -> String {
            "<script src='{other}/attack.js'></script><script>attack('it', \(isInside));</script>"
        }

        private static func escaped(_ html: String) -> String {
            html.replacing("&", with: "&amp;").replacing("\"", with: "&quot;")
        }

        static let attacks: [Attack] = [
            Attack(testDescription: "a frame of another origin", home: "<iframe src='{other}/attack'></iframe>"),
            Attack(
                testDescription: "a frame redirected to another origin",
                home: "<iframe src='/away'></iframe>",
                answers: ["/away": .redirect(to: "{other}/attack")]
            ),
            Attack(
                testDescription: "a sandboxed srcdoc frame",
                home: "<iframe sandbox=allow-scripts srcdoc=\"\(escaped(attacker(isInside: true)))\"></iframe>"
            ),
            // The parent has the same origin, so a call by way of the parent is a call of the page itself.
            Attack(
                testDescription: "a srcdoc frame that calls its own routes",
                home: "<iframe srcdoc=\"\(escaped(attacker(isInside: false)))\"></iframe>"
            ),
            Attack(
                testDescription: "a srcdoc frame of a frame of another origin",
                home: "<iframe src='{other}/nest'></iframe>"
            ),
            Attack(
                testDescription: "a frame of a data URL",
                home: "<iframe src=\"data:text/html,\(escaped(attacker(isInside: true)))\"></iframe>"
            ),
            Attack(testDescription: "an object of another origin", home: "<object data='{other}/attack'></object>"),
            Attack(
                testDescription: "a frame with a URL of the home site and an opaque origin",
                home: "<iframe sandbox=allow-scripts src='/inside'></iframe>",
                answers: ["/inside": .html(attacker(isInside: true))]
            ),
            Attack(
                testDescription: "a page after a redirect",
                script: "location.href = '/away';",
                answers: ["/away": .redirect(to: "{other}/attackTop")],
                staysHome: false
            ),
            Attack(
                testDescription: "a page loaded by a script",
                script: "location.href = '{other}/attackTop';",
                staysHome: false
            ),
            Attack(
                testDescription: "a page of the home site sandboxed by its policy",
                script: "location.href = '/sandboxed';",
                answers: [
                    "/sandboxed": .html(
                        attacker(isInside: false),
                        headers: ["Content-Security-Policy": "sandbox allow-scripts"]
                    )
                ],
                staysHome: false
            ),
        ]

        @Test(arguments: attacks)
        func foreignPagesCannotCallThePlugin(attack: Attack) async throws {
            let trial = try Self.trial(attack)
            let spy = try Self.spy(on: trial)
            try await trial.run {
                let outcomes = try await Self.outcomes(in: trial)
                Self.check(outcomes, spy, trial)
                guard attack.staysHome else { return }
                _ = try await trial.engine.evaluate("signalbox.call('pay', { amount: 7 }); 0")
                #expect(await spy.first(1) == [7])
            }
        }

        @Test func anAllowedPopupHasNoOpenerAndCannotCallThePlugin() async throws {
            let trial = try Self.trial(Attack(testDescription: "popup", script: "report('home');"))
            let spy = try Self.spy(on: trial)
            try await trial.run {
                _ = await trial.reports.first(1)
                let opened = try await trial.engine.evaluate(
                    "String(window.open('{other}/attackTop'))".resolved(for: trial)
                )
                #expect(opened == "null")
                Self.check(try await Self.outcomes(in: trial), spy, trial)
            }
        }

        @Test func repliesToTheHomePageDoNotReachTheNextPage() async throws {
            let trial = try Self.trial(
                Attack(testDescription: "late", script: "signalbox.call('slow'); report('home');", staysHome: false)
            )
            let gate = Gate()
            try trial.supervisor.register(
                Registration("slow", as: RawBody.self, from: .script()) { _, _ in
                    await gate.pass()
                    return "secret"
                }
            )
            let spy = try Self.spy(on: trial)
            try await trial.run {
                await gate.untilArrived(1)
                try trial.engine.page.send("secret", id: nil, body: Bytes("1"))
                _ = try await trial.engine.evaluate("location.href = '{other}/listen'; 0".resolved(for: trial))
                try await trial.other.request(containing: "/listening")
                try trial.engine.page.send("secret", id: nil, body: Bytes("2"))
                gate.open()
                // A request for a received message would precede this one.
                _ = try await trial.engine.evaluate("new Image().src = '/last'; 0")
                try await trial.other.request(containing: "/last")
            }
            #expect(!trial.other.requests.contains { $0.contains("/heard") })
            #expect(spy.all.isEmpty)
        }

        // MARK: -

        private static func trial(_ attack: Attack) throws -> WebTrial {
            var home = attack.answers
            home["/"] = WebTrial.page(attack.script, attack.home, headers: attack.headers)
            let nest = "<iframe srcdoc=\"\(escaped(attacker(isInside: false)))\"></iframe>"
            let listen = """
                <script>
                for (const name of ['signalbox:down', 'signalbox:up', 'message'])
                  for (const target of [document, window])
                    target.addEventListener(name, () => { new Image().src = '/heard'; });
                new Image().src = '/listening';
                </script>
                """
            return try WebTrial(
                home: home,
                other: [
                    "/attack": .html(attacker(isInside: true)), "/attackTop": .html(attacker(isInside: false)),
                    "/attack.js": WebSite.Answer(headers: ["Content-Type": "text/javascript"], body: script),
                    "/nest": .html(nest), "/listen": .html(listen),
                ],
                build: { $0.add(handler: BridgeHandler("pay")) }
            )
        }

        private static func spy(on trial: WebTrial) throws -> EventList<Int> {
            struct Payment: Decodable { let amount: Int }
            let spy = EventList<Int>()
            let home = AccessRule.script(origin: try WebOrigin(trial.home.origin))
            try trial.supervisor.register(
                Registration("pay", as: Payment.self, from: home) { payment, _ in
                    spy.append(payment.amount)
                }
            )
            return spy
        }

        /// Returns the result of each route.
        private static func outcomes(in trial: WebTrial) async throws -> [String: String] {
            let head = try await trial.other.request(containing: "/told?")
            let query = try #require(head.split(separator: " ")[1].split(separator: "?").last)
            let text = try #require(String(query).removingPercentEncoding)
            let json = try #require(text.firstIndex(of: " ").map { text[text.index(after: $0)...] })
            return try JSONDecoder().decode([String: String].self, from: Data(json.utf8))
        }

        private static func check(_ outcomes: [String: String], _ spy: EventList<Int>, _ trial: WebTrial) {
            #expect(spy.all.isEmpty)
            #expect(outcomes.count >= 13)
            let refusals = outcomes.filter { $0.value.contains("sourceNotAllowed") }
            #expect(refusals.keys.contains("native") && refusals.keys.contains("nativeText"), "\(outcomes)")
            for (route, outcome) in outcomes {
                #expect(!outcome.hasPrefix("RESOLVED") && !outcome.contains("HEARD"), "\(route): \(outcome)")
                #expect(outcome != "CALLED", "\(route)")
            }
            let letters = trial.supervisor.deadLetters.letters
            #expect(letters.count >= refusals.count)
            for letter in letters {
                #expect("\(letter.outcome)".contains("sourceNotAllowed"), "\(letter.outcome)")
                let facts = letter.facts as? ScriptFacts
                #expect(facts?.origin == nil && facts?.isMainFrame == .unknown)
            }
        }
    }
}

extension String {
    fileprivate func resolved(for trial: WebTrial) -> String {
        replacing("{home}", with: trial.home.origin).replacing("{other}", with: trial.other.origin)
    }
}

extension WebKitGTKTests {
    @Suite struct SandboxTests {
        private static let home = ["/": WebTrial.page("report(1);")]

        @Test func aProcessIsSandboxedWhereTheSystemAllowsIt() async throws {
            await WebProcesses.untilAllHaveEnded()
            try await GLibThread.begin()
            let problem = await SandboxProbe.problem()
            let trial = try WebTrial(home: Self.home, sandbox: .required)
            let intake = try trial.supervisor.intake(for: WebTrial.source)
            let supervision = Task { try await trial.supervisor.run() }
            if let problem {
                let error = await #expect(throws: JSBridgeError.self) { try await trial.engine.run(into: intake) }
                #expect(error?.code == .noSandbox)
                #expect(error?.detail.contains(problem) == true)
            } else {
                let run = Task { try await trial.engine.run(into: intake) }
                _ = await trial.reports.first(1)
                let processes = WebProcesses.ofThisTest()
                #expect(!processes.isEmpty)
                for process in processes { #expect(Self.space(of: "\(process)") != Self.space(of: "self")) }
                #expect(!trial.log.all.contains { $0.lowercased().contains("not sandboxed") })
                run.cancel()
                try await run.value
            }
            supervision.cancel()
            try await supervision.value
        }

        @Test func anUnsandboxedProcessIsLogged() async throws {
            await WebProcesses.untilAllHaveEnded()
            let trial = try WebTrial(home: Self.home, sandbox: .off)
            try await trial.run {
                await trial.waitForLog("not sandboxed")
                _ = await trial.reports.first(1)
                for process in WebProcesses.ofThisTest() {
                    #expect(Self.space(of: "\(process)") == Self.space(of: "self"))
                }
            }
        }

        /// Returns the PID namespace of a process.
        private static func space(of process: String) -> String? {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/ns/pid")
        }
    }
}
#endif
