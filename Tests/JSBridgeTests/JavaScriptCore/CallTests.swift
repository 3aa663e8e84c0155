import BrokerKit
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

@Suite(.timeLimit(.minutes(10))) struct CallTests {
    @Test func aCallIsAnsweredWithThePluginsReply() async throws {
        let trial = try PageTrial(
            """
            (async () => {
              report(await signalbox.call('pay', { amount: 3, currency: 'EUR' }));
              report((await signalbox.call('nothing')) === undefined);
              report(await signalbox.call('text', null));
            })();
            """,
            configure: { $0.endsWhenIdle = true }
        )
        try trial.supervisor.register(
            Registration("pay", as: Payment.self, from: .script()) { payment, _ in
                Payment(amount: payment.amount + 1, currency: payment.currency)
            }
        )
        try trial.supervisor.register(Registration("nothing", as: RawBody.self, from: .script()) { _, _ in })
        try trial.supervisor.register(Registration("text", as: RawBody.self, from: .script()) { _, _ in "ä€😀\n\"" })
        let reports = try await trial.untilEnd()
        #expect(reports == [#"{"amount":4,"currency":"EUR"}"#, "true", #""ä€😀\n\"""#])
        #expect(trial.engine.scriptErrors == 0)
    }

    @Test(arguments: [
        ("'nobody'", "unknownAction", "rejected", "undefined"),
        ("'pay', {amount: 'three', currency: 'EUR'}", "invalidBody", "rejected", "body.amount"),
        ("'pay', {currency: 'EUR'}", "invalidBody", "rejected", "body.amount"),
        ("'forbidden'", "sourceNotAllowed", "rejected", "undefined"),
        ("'not a name'", "malformed", "rejected", "action"),
        ("'signalbox.stop'", "malformed", "rejected", "action"),
        ("'pay', 'x'.repeat(70000)", "malformed", "rejected", "undefined"),
        ("'pay', null, {id: 'x'.repeat(129)}", "malformed", "rejected", "id"),
        ("'throws'", "threw", "failed", "undefined"),
        ("'hangs'", "timeout", "failed", "undefined"),
    ])
    func eachFailureHasItsCode(call: String, code: String, outcome: String, path: String) async throws {
        let trial = try PageTrial(
            """
            signalbox.call(\(call)).then(
              () => report('settled with a value'),
              (error) => report([error.name, error.code, String(error.outcome), String(error.path), error instanceof Error])
            );
            """,
            supervise: { $0.tick = .milliseconds(10) }
        )
        let gate = Gate()
        try trial.register(gate, timeout: .milliseconds(200))
        try await trial.run {
            let report = await trial.reports.first(1)
            #expect(report == ["[\"SignalboxError\",\"\(code)\",\"\(outcome)\",\"\(path)\",true]"])
            gate.open()
        }
    }

    @Test func pluginErrorsAndRulesAreHiddenFromThePage() async throws {
        let trial = try PageTrial(
            """
            for (const action of ['throws', 'forbidden']) signalbox.call(action).catch((error) => report(error.message));
            """,
            configure: { $0.endsWhenIdle = true }
        )
        try trial.register(Gate())
        let reports = try await trial.untilEnd()
        #expect(Set(reports) == [#""the plugin failed""#, #""this page may not call the action""#])
    }

    @Test func aSettlementAfterThePagesTimeoutIsIgnored() async throws {
        let trial = try PageTrial(
            """
            signalbox.call('hangs', null, { timeout: 3000 }).catch((error) => report(error.code)).then(() => signalbox.call('open'))
            .then(() => signalbox.call('hangs')).then(() => report('again'));
            """
        )
        let gate = Gate()
        try trial.register(gate)
        try trial.supervisor.register(Registration("open", as: RawBody.self, from: .script()) { _, _ in gate.open() })
        try await trial.run { #expect(await trial.reports.first(2) == [#""timeout""#, #""again""#]) }
        #expect(trial.engine.scriptErrors == 0)
        #expect(trial.supervisor.report.isClean)
    }

    @Test func theIDAndTheDeadlineReachThePlugin() async throws {
        let trial = try PageTrial(
            "signalbox.call('look', 1, { id: 'mine', timeout: 60000 }).then(report);",
            configure: { $0.endsWhenIdle = true }
        )
        try trial.supervisor.register(
            Registration("look", as: RawBody.self, from: .script()) { _, context in
                let left = context.deadline.map { $0 - .now } ?? .zero
                let isNear = left > .seconds(30) && left <= .seconds(60)
                return "\(context.id) \(isNear)"
            }
        )
        #expect(try await trial.untilEnd() == [#""mine true""#])
    }

    @Test func aDeadLetterHoldsTheEnvelopeThatThePageSent() async throws {
        let trial = try PageTrial(
            "signalbox.call('nobody', { a: [1, 'é'] }, { id: '7' }).catch(() => {});",
            configure: { $0.endsWhenIdle = true }
        )
        try await trial.untilEnd()
        let letters = trial.supervisor.deadLetters.letters
        #expect(letters.map(\.original.text) == [#"{"action":"nobody","id":"7","body":{"a":[1,"é"]}}"#])
    }

    @Test func concurrentCallsAreEachAnsweredOnce() async throws {
        let trial = try PageTrial(
            """
            (async () => {
              const replies = await Promise.all(Array.from({ length: 3000 }, (_, i) => signalbox.call('double', i)));
              report([replies.length, replies.every((reply, i) => reply === 2 * i)]);
            })();
            """,
            configure: { $0.endsWhenIdle = true },
            window: WindowLimits(arrivals: 100)
        )
        try trial.supervisor.register(Registration("double", as: Int.self, from: .script()) { number, _ in 2 * number })
        #expect(try await trial.untilEnd() == ["[3000,true]"])
    }
}

extension PageTrial {
    /// Registers plugins that fail for every reason.
    ///
    /// - Parameter timeout: The timeout of `hangs` alone, because a slow machine may need longer for the others.
    fileprivate func register(_ gate: Gate, timeout: Duration? = nil) throws {
        struct Broken: Error {}
        try supervisor.register(Registration("pay", as: Payment.self, from: .script()) { _, _ in })
        try supervisor.register(Registration("forbidden", as: RawBody.self, from: .source("other")) { _, _ in })
        try supervisor.register(Registration("throws", as: RawBody.self, from: .script()) { _, _ in throw Broken() })
        let options = PluginOptions<RawBody>(timeout: timeout)
        try supervisor.register(
            Registration("hangs", as: RawBody.self, from: .script(), options: options) { _, _ in
                await gate.pass()
            }
        )
    }
}

@Suite(.timeLimit(.minutes(10))) struct PostMessageTests {
    @Test func theHandlersNameIsTheActionUnlessTheMessageNamesOne() async throws {
        let trial = try PageTrial(
            """
            const handlers = window.webkit.messageHandlers;
            handlers.report.postMessage('text');
            handlers.report.postMessage({ other: 1 });
            handlers.anything.postMessage({ action: 'report', id: 'x', body: [2] });
            handlers.report.postMessage({ action: 'report' });
            handlers.report.postMessage();
            handlers['report'].postMessage(null);
            """,
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == [#""text""#, #"{"other":1}"#, "[2]", "", "null", "null"])
    }

    @Test func thePromiseSettlesWithTheReplyOrAnError() async throws {
        let trial = try PageTrial(
            """
            const { double, nobody } = webkit.messageHandlers;
            double.postMessage(4).then(report);
            nobody.postMessage(4).catch((error) => report(error.code));
            """,
            configure: { $0.endsWhenIdle = true }
        )
        try trial.supervisor.register(Registration("double", as: Int.self, from: .script()) { number, _ in 2 * number })
        #expect(Set(try await trial.untilEnd()) == ["8", #""unknownAction""#])
    }

    @Test func anInvalidHandlerNameProducesADeadLetter() async throws {
        let trial = try PageTrial(
            "webkit.messageHandlers['not a name'].postMessage({ a: 1 }).catch((error) => report([error.code, error.outcome]));",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == [#"["malformed","rejected"]"#])
        #expect(trial.supervisor.deadLetters.letters.map(\.original.text) == [#"{"a":1}"#])
    }

    @Test func anIgnoredFailureIsNoScriptError() async throws {
        let trial = try PageTrial(
            "webkit.messageHandlers.nobody.postMessage(1); signalbox.call('report', 1);",
            configure: { $0.endsWhenIdle = true }
        )
        try await trial.untilEnd()
        #expect(trial.engine.scriptErrors == 0)
        #expect(trial.supervisor.report.total.rejected == 1)
    }
}

@Suite(.timeLimit(.minutes(10))) struct ArgumentTests {
    @Test(arguments: [
        ("() => 1", "body"), ("Symbol('s')", "body"), ("undefined", "body"), ("10n", "body"), ("NaN", "body"),
        ("-Infinity", "body"), ("{ a: { b: [0, () => 1] } }", "body.a.b[1]"), ("[undefined]", "body[0]"),
        ("{ a: Symbol('s') }", "body.a"), ("[[1, NaN]]", "body[0][1]"), ("cycle", "body.inner.outer"),
        ("{ get a() { throw new Error('got'); } }", "body"), ("{ toJSON() { throw 1; } }", "body"),
        ("{ toJSON: () => () => 1 }", "body"), ("new Proxy({}, { ownKeys() { throw 1; } })", "body"),
    ])
    func valuesWithoutAJSONFormAreRefusedWithTheirPath(value: String, path: String) async throws {
        let trial = try PageTrial(
            """
            const cycle = { inner: { } };
            cycle.inner.outer = cycle;
            let threw = true;
            const promise = signalbox.call('report', \(value));
            threw = false;
            promise.catch((error) => report([error.code, error.path, threw]));
            window.webkit.messageHandlers.report.postMessage(\(value)).catch((error) => report(error.code));
            """,
            configure: { $0.endsWhenIdle = true }
        )
        let reports = try await trial.untilEnd()
        #expect(reports == ["[\"invalidArgument\",\"\(path)\",false]", #""invalidArgument""#])
        #expect(trial.supervisor.report.total.handled == 2)
    }

    @Test(arguments: [
        ("1, null", "action"), ("undefined", "action"), ("'report', null, { timeout: 0 }", "timeout"),
        ("'report', null, { timeout: -1 }", "timeout"), ("'report', null, { timeout: NaN }", "timeout"),
        ("'report', null, { timeout: Infinity }", "timeout"), ("'report', null, { timeout: '5' }", "timeout"),
        ("'report', null, { timeout: null }", "timeout"), ("'report', null, { id: 5 }", "id"),
    ])
    func optionsOutOfRangeAreRefused(arguments: String, path: String) async throws {
        let trial = try PageTrial(
            "signalbox.call(\(arguments)).catch((error) => report([error.code, error.path]));",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == ["[\"invalidArgument\",\"\(path)\"]"])
    }

    @Test(arguments: [
        ("{ a: undefined, b: 1 }", #"{"b":1}"#), ("new Date(0)", #""1970-01-01T00:00:00.000Z""#), ("null", "null"),
        ("{ a: { toJSON: () => [1] } }", #"{"a":[1]}"#), ("'\\ud83d\\ude00\\u0000'", #""😀\u0000""#),
        ("[1.5, -0, 1e300, true]", "[1.5,0,1e+300,true]"), ("Object.create(null)", "{}"),
        ("(() => { const one = { x: 1 }; return [one, one]; })()", #"[{"x":1},{"x":1}]"#),
    ])
    func otherValuesAreEncodedAsByJSONStringify(value: String, json: String) async throws {
        let trial = try PageTrial("report(\(value));", configure: { $0.endsWhenIdle = true })
        #expect(try await trial.untilEnd() == [json])
    }

    @Test func aPageWithReplacedGlobalsStillSendsMessages() async throws {
        let trial = try PageTrial(
            "JSON.stringify = () => 'null'; JSON.parse = null; globalThis.setTimeout = null; report([1]).then(() => report(2));",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == ["[1]", "2"])
    }
}

/// Pages whose scripts have replaced members of objects, arrays and globals.
@Suite(.timeLimit(.minutes(10))) struct PollutionTests {
    private static let script = """
        const { then } = Promise.prototype, { apply } = Reflect, later = setTimeout, Failure = Error;
        const failed = (promise, listener) => apply(then, promise, [undefined, listener]);
        signalbox.on('double', (n) => 2 * n);
        \(HostilePage.pollution)
        \(HostilePage.thenPollution)
        console.log(new Failure('told'));
        for (let n = 1; n <= 20; n += 1) report(n);
        later((text) => {
          report(text);
          failed(signalbox.call('none', 1, { id: 'one' }), (error) => {
            report(error.code);
            failed(signalbox.call('object'), (error) => { report(error.message); });
          });
        }, 1, 'timer');
        later(() => { throw new Failure('boom'); }, 1);
        """

    @Test func pollutedPrototypesDoNotBreakTheBridge() async throws {
        let trial = try PageTrial(Self.script)
        // Settling a promise with an object reads its `then`. The call fails, but does not hang.
        try trial.supervisor.register(Registration("object", as: RawBody.self, from: .script()) { _, _ in [1] })
        try await trial.run {
            let expected = (1...20).map(String.init) + [#""timer""#, #""unknownAction""#, #""polluted""#]
            let reports = await trial.reports.wait { $0.count >= expected.count || !expected.starts(with: $0) }
            #expect(reports == expected)
            let page = trial.engine.page
            for number in [4, 5] {
                let doubled = try await page.call("double", number, returning: Int.self, timeout: .seconds(300))
                #expect(doubled == 2 * number)
            }
            let thrown = await trial.waitForLog("Error: boom")
            let hasPlace = thrown.contains(/one\.js:\d+:\d+: Error: boom/)
            #expect(hasPlace, "\(thrown)")
            let shown = await trial.waitForLog("Error: told")
            #expect(shown.contains("Error: told (global code@one.js:"), "\(shown)")
        }
    }
}

@Suite struct BridgeScriptTests {
    @Test func theBridgeScriptIsSmall() {
        #expect(PackageResources.bridge_js.count < 8_600)
    }
}
