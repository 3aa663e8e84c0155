import JSBridge
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TimerTests {
    @Test func timersRunByDueTimeAndThenByCreation() async throws {
        let trial = try PageTrial(
            """
            const order = [];
            setTimeout(() => { order.push('late'); report(order); }, 1000);
            setTimeout((text) => order.push(text), 0, 'first');
            setTimeout(() => order.push('second'));
            setTimeout(() => order.push('third'), -5);
            setTimeout(() => order.push('fourth'), 'x');
            clearTimeout(setTimeout(() => order.push('never'), 0));
            clearTimeout(undefined);
            order.push('script');
            """,
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == [#"["script","first","second","third","fourth","late"]"#])
    }

    @Test func anIntervalRepeatsUntilItIsCleared() async throws {
        let trial = try PageTrial(
            "let n = 0; const id = setInterval((step) => { n += step; if (n >= 6) { clearInterval(id); report(n); } }, 0, 2);",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == ["6"])
    }

    @Test func chainedTimersDoNotStarveMessages() async throws {
        let trial = try PageTrial(
            "let done = false; (function again() { if (!done) setTimeout(again, 0); })(); report(1).then(() => { done = true; });",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == ["1"])
    }

    @Test func microtasksRunInOrderBetweenTurns() async throws {
        let trial = try PageTrial(
            """
            const order = [];
            setTimeout(() => order.push('timer one') && Promise.resolve().then(() => order.push('its promise')));
            setTimeout(() => { order.push('timer two'); report(order); });
            queueMicrotask(() => order.push('queued'));
            Promise.resolve().then(() => order.push('promise')).then(() => order.push('then'));
            (async () => { await null; order.push('awaited'); })();
            order.push('script');
            """,
            "order.push('second script');",
            configure: { $0.endsWhenIdle = true }
        )
        let expected =
            #"["script","queued","promise","awaited","then","second script","timer one","its promise","timer two"]"#
        #expect(try await trial.untilEnd() == [expected])
    }

    @Test func pendingTimersBeyondTheLimitThrowARangeError() async throws {
        let trial = try PageTrial(
            """
            for (let i = 0; i < 100; i += 1) clearTimeout(setTimeout(() => {}, 1e9));
            const ids = [0, 1, 2].map(() => setTimeout(() => {}, 1e9));
            try { setTimeout(() => {}, 0); } catch (error) { report(error instanceof RangeError); }
            signalbox.call('report', 2, { timeout: 60000 });
            ids.forEach(clearTimeout);
            """,
            configure: { configuration in
                configuration.timerLimit = 3
                configuration.endsWhenIdle = true
            }
        )
        #expect(try await trial.untilEnd() == ["true", "2"])
    }

    @Test func schedulingANonFunctionThrowsATypeError() async throws {
        let trial = try PageTrial(
            """
            for (const start of [setTimeout, setInterval, queueMicrotask]) {
              try { start('code'); } catch (error) { report(error instanceof TypeError); }
            }
            """,
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == ["true", "true", "true"])
    }
}

/// A page's thread that waited for room receives the events of that time.
@Suite(.timeLimit(.minutes(10))) struct WakeTests {
    @Test func outcomesArrivingInABlockedTurnAreDelivered() async throws {
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
        try trial.supervisor.register(Registration("echo", as: Int.self, from: .script()) { number, _ in number })
        #expect(try await trial.untilEnd() == (1...20).map(String.init))
    }

    @Test func aMessageArrivingInABlockedTurnIsDelivered() async throws {
        let trial = try PageTrial(
            """
            signalbox.on('hello', (text) => report(text));
            setTimeout(() => { for (let i = 0; i < 10; i += 1) signalbox.call('work', i); }, 0);
            """,
            window: WindowLimits(arrivals: 2)
        )
        let gate = Gate()
        try trial.supervisor.register(Registration("work", as: Int.self, from: .script()) { _, _ in await gate.pass() })
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
    func aPageThatBreaksItsGlobalsHarmsOnlyItself(script: String) async throws {
        let trial = try PageTrial("report(1);", script, "report(2); setTimeout(() => signalbox.call('close'), 20);")
        try trial.supervisor.register(
            Registration("close", as: RawBody.self, from: .script()) { _, context in context.page?.close()
            }
        )
        try await trial.run { _ = await trial.reports.first(2) }
        #expect(trial.reports.all == ["1", "2"])
    }

    @Test(arguments: [
        ("signalbox.call('report', 1, { get timeout() { throw 1; } })", "options"),
        ("signalbox.call('report', { a: new Number(NaN) })", "body.a"),
        ("signalbox.call('report', [new Map([[1, 2]])])", "body[0]"),
        ("signalbox.call('report', new Set([1]))", "body"),
    ])
    func invalidArgumentsRejectWithACodeAndAPath(call: String, path: String) async throws {
        let trial = try PageTrial(
            "(\(call)).catch((error) => console.log(`${error instanceof Error} ${error.code} ${error.path}`));",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd().isEmpty)
        #expect(trial.log.all.contains { $0.contains("true invalidArgument \(path)") }, "\(trial.log.all)")
    }

    @Test func aFailedPageIsClosedForItsPlugins() async throws {
        let trial = try PageTrial(
            "signalbox.call('ask'); setTimeout(() => { for (;;) {} }, 1);",
            configure: { $0.executionTimeLimit = .milliseconds(50) }
        )
        try trial.supervisor.register(
            Registration("ask", as: RawBody.self, from: .script()) { _, context in
                let error = await #expect(throws: PageCallError.self) {
                    try await context.page?.call("never", 1, timeout: .seconds(600))
                }
                #expect(error?.code == .closed)
                #expect(throws: SendRefused.closed) { try context.page?.send("never", id: nil, body: Bytes("1")) }
            }
        )
        await #expect(throws: JSBridgeError.self) { try await trial.untilEnd() }
    }
}

@Suite(.timeLimit(.minutes(10))) struct OrderTests {
    @Test func messagesOfBothFormsArriveInOrderThroughASmallWindow() async throws {
        let trial = try PageTrial(
            """
            for (let i = 0; i < 20000; i += 1) {
              if (i % 3) signalbox.call('number', i);
              else webkit.messageHandlers.number.postMessage(i);
            }
            """,
            configure: { $0.endsWhenIdle = true },
            window: WindowLimits(arrivals: 8)
        )
        let numbers = EventList<Int>()
        try trial.supervisor.register(
            Registration("number", as: Int.self, from: .script()) { number, _ in
                numbers.append(contentsOf: CollectionOfOne(number))
            }
        )
        try await trial.untilEnd()
        #expect(numbers.all == Array(0..<20_000))
        #expect(trial.supervisor.report.total.handled == 20_000)
    }

    @Test func theScriptBlocksWhileTheWindowIsFull() async throws {
        let trial = try PageTrial(
            "for (let i = 0; i < 50; i += 1) { signalbox.call('work'); console.log('sent ' + i); } report(1);",
            configure: { $0.batchMessages = 1 },
            window: WindowLimits(arrivals: 4)
        )
        let gate = Gate()
        try trial.supervisor.register(
            Registration("work", as: RawBody.self, from: .script()) { _, _ in await gate.pass() }
        )
        try await trial.run {
            await trial.waitForLog("sent 3")
            await gate.untilArrived(1)
            #expect(!trial.log.all.contains { $0.contains("sent 5 ") })
            gate.open()
            #expect(await trial.reports.first(1) == ["1"])
        }
        #expect(trial.supervisor.report.total.handled == 51)
    }
}
