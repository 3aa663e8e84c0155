import JSBridge
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

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
        try trial.supervisor.register("pay", as: Payment.self, from: .script()) { payment, _ in
            Payment(amount: payment.amount + 1, currency: payment.currency)
        }
        try trial.supervisor.register("nothing", as: RawBody.self, from: .script()) { _, _ in }
        try trial.supervisor.register("text", as: RawBody.self, from: .script()) { _, _ in "ä€😀\n\"" }
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

    @Test func whatThePluginThrewAndTheRuleAreNotToldToThePage() async throws {
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

    @Test func aSettlementThatComesAfterThePagesOwnTimeoutIsIgnored() async throws {
        let trial = try PageTrial(
            """
            signalbox.call('hangs', null, { timeout: 3000 }).catch((error) => report(error.code)).then(() => signalbox.call('open'))
            .then(() => signalbox.call('hangs')).then(() => report('again'));
            """
        )
        let gate = Gate()
        try trial.register(gate)
        try trial.supervisor.register("open", as: RawBody.self, from: .script()) { _, _ in gate.open() }
        try await trial.run { #expect(await trial.reports.first(2) == [#""timeout""#, #""again""#]) }
        #expect(trial.engine.scriptErrors == 0)
        #expect(trial.supervisor.report.isClean)
    }

    @Test func theIDAndTheDeadlineReachThePlugin() async throws {
        let trial = try PageTrial(
            "signalbox.call('look', 1, { id: 'mine', timeout: 60000 }).then(report);",
            configure: { $0.endsWhenIdle = true }
        )
        try trial.supervisor.register("look", as: RawBody.self, from: .script()) { _, context in
            let left = context.deadline.map { $0 - .now } ?? .zero
            let isNear = left > .seconds(30) && left <= .seconds(60)
            return "\(context.id) \(isNear)"
        }
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

    @Test func manyCallsInFlightAreEachAnsweredOnce() async throws {
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
        try trial.supervisor.register("double", as: Int.self, from: .script()) { number, _ in 2 * number }
        #expect(try await trial.untilEnd() == ["[3000,true]"])
    }
}

extension PageTrial {
    /// Plugins that fail in every way.
    ///
    /// - Parameter timeout: of `hangs` alone, as a slow machine may need longer for the others.
    fileprivate func register(_ gate: Gate, timeout: Duration? = nil) throws {
        struct Broken: Error {}
        try supervisor.register("pay", as: Payment.self, from: .script()) { _, _ in }
        try supervisor.register("forbidden", as: RawBody.self, from: .source("other")) { _, _ in }
        try supervisor.register("throws", as: RawBody.self, from: .script()) { _, _ in throw Broken() }
        let options = PluginOptions<RawBody>(timeout: timeout)
        try supervisor.register("hangs", as: RawBody.self, from: .script(), options: options) { _, _ in
            await gate.pass()
        }
    }
}
