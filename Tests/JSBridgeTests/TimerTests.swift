import JSBridge
import Signalbox
import SignalboxCore
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

    @Test func aTimerSetByAnotherDoesNotKeepThePageFromItsMessages() async throws {
        let trial = try PageTrial(
            "let done = false; (function again() { if (!done) setTimeout(again, 0); })(); report(1).then(() => { done = true; });",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == ["1"])
    }

    @Test func microtasksRunBetweenTurnsInTheirOrder() async throws {
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

    @Test func moreTimersThanTheLimitAreARangeErrorAndClearedOnesDoNotCount() async throws {
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

    @Test func whatIsNoFunctionIsATypeError() async throws {
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
