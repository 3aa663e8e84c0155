import JSBridge
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

/// A page's thread that stood still hears of what came meanwhile.
@Suite(.timeLimit(.minutes(10))) struct WakeTests {
    @Test func outcomesThatComeWhileATurnStandsStillAreTold() async throws {
        let trial = try PageTrial(
            """
            let round = 0;
            const go = async () => {
              await Promise.all(Array.from({ length: 40 }, (_, i) => signalbox.call('echo', i)));
              report(++round);
              if (round < 20) setTimeout(go, 0);
            };
            setTimeout(go, 0);
            """,
            configure: { $0.endsWhenIdle = true },
            window: WindowLimits(arrivals: 4)
        )
        try trial.supervisor.register("echo", as: Int.self, from: .script()) { number, _ in number }
        #expect(try await trial.untilEnd() == (1...20).map(String.init))
    }

    @Test func aMessageThatComesWhileATurnStandsStillIsDelivered() async throws {
        let trial = try PageTrial(
            """
            signalbox.on('hello', (text) => report(text));
            setTimeout(() => { for (let i = 0; i < 10; i += 1) signalbox.call('work', i); }, 0);
            """,
            window: WindowLimits(arrivals: 2)
        )
        let gate = Gate()
        try trial.supervisor.register("work", as: Int.self, from: .script()) { _, _ in await gate.pass() }
        try await trial.run {
            await gate.untilArrived(1)
            try trial.engine.page.send("hello", "you")
            gate.open()
            _ = await trial.reports.first(1)
        }
        #expect(trial.reports.all == [#""you""#])
    }

    @Test(arguments: [
        "Math.min = () => Infinity; setTimeout(() => {}, 1);",
        "Math.max = Math.min = () => NaN; setTimeout(() => {}, 1);",
        "Map.prototype.get = () => ({ callback() {}, values: [], repeats: true, wait: Infinity }); setTimeout(() => {}, 0);",
        "setTimeout(() => {}, 1e308); setTimeout(() => {}, -Infinity); setTimeout(() => {}, 'x'); setTimeout(() => {}, {});",
    ])
    func aPageThatBreaksItsOwnGlobalsHarmsItselfAlone(script: String) async throws {
        let trial = try PageTrial("report(1);", script, "report(2); setTimeout(() => signalbox.call('close'), 20);")
        try trial.supervisor.register("close", as: RawBody.self, from: .script()) { _, context in context.page?.close()
        }
        try await trial.run { _ = await trial.reports.first(2) }
        #expect(trial.reports.all == ["1", "2"])
    }

    @Test(arguments: [
        ("signalbox.call('report', 1, { get timeout() { throw 1; } })", "options"),
        ("signalbox.call('report', { a: new Number(NaN) })", "body.a"),
        ("signalbox.call('report', [new Map([[1, 2]])])", "body[0]"),
        ("signalbox.call('report', new Set([1]))", "body"),
    ])
    func whateverIsWrongWithAnArgumentIsAnErrorWithItsCode(call: String, path: String) async throws {
        let trial = try PageTrial(
            "(\(call)).catch((error) => console.log(`${error instanceof Error} ${error.code} ${error.path}`));",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd().isEmpty)
        #expect(trial.log.all.contains { $0.contains("true invalidArgument \(path)") }, "\(trial.log.all)")
    }

    @Test func aFailedPageIsGoneForItsPlugins() async throws {
        let trial = try PageTrial(
            "signalbox.call('ask'); setTimeout(() => { for (;;) {} }, 1);",
            configure: { $0.executionTimeLimit = .milliseconds(50) }
        )
        try trial.supervisor.register("ask", as: RawBody.self, from: .script()) { _, context in
            let error = await #expect(throws: PageCallError.self) {
                try await context.page?.call("never", 1, timeout: .seconds(600))
            }
            #expect(error?.code == .closed)
            #expect(throws: SendRefused.closed) { try context.page?.send("never", id: nil, body: Bytes("1")) }
        }
        await #expect(throws: JSBridgeError.self) { try await trial.untilEnd() }
    }
}
