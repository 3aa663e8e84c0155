import JSBridge
import Signalbox
import SignalboxCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct ArgumentTests {
    @Test(arguments: [
        ("() => 1", "body"), ("Symbol('s')", "body"), ("undefined", "body"), ("10n", "body"), ("NaN", "body"),
        ("-Infinity", "body"), ("{ a: { b: [0, () => 1] } }", "body.a.b[1]"), ("[undefined]", "body[0]"),
        ("{ a: Symbol('s') }", "body.a"), ("[[1, NaN]]", "body[0][1]"), ("cycle", "body.inner.outer"),
        ("{ get a() { throw new Error('got'); } }", "body"), ("{ toJSON() { throw 1; } }", "body"),
        ("{ toJSON: () => () => 1 }", "body"), ("new Proxy({}, { ownKeys() { throw 1; } })", "body"),
    ])
    func whatHasNoJSONFormIsRefusedWithItsPlace(value: String, path: String) async throws {
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
    func otherValuesArriveAsJSONWritesThem(value: String, json: String) async throws {
        let trial = try PageTrial("report(\(value));", configure: { $0.endsWhenIdle = true })
        #expect(try await trial.untilEnd() == [json])
    }

    @Test func aPageThatChangesItsGlobalsStillSendsWhatItSays() async throws {
        let trial = try PageTrial(
            "JSON.stringify = () => 'null'; JSON.parse = null; globalThis.setTimeout = null; report([1]).then(() => report(2));",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == ["[1]", "2"])
    }
}
