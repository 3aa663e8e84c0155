import JSBridge
import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct EndTests {
    @Test func anIdlePageEndsAndAnotherCanRun() async throws {
        let trial = try PageTrial("report(1); setTimeout(() => report(2), 1);", configure: { $0.endsWhenIdle = true })
        let intake = try trial.supervisor.intake(for: PageTrial.source)
        let supervision = Task { try await trial.supervisor.run() }
        try await trial.engine.run(into: intake)
        #expect(trial.reports.all == ["1", "2"])
        try await trial.engine.run(into: intake)
        #expect(trial.reports.all == ["1", "2", "1", "2"])
        supervision.cancel()
        try await supervision.value
    }

    @Test func aPageWithAnUnansweredCallIsNotIdle() async throws {
        let trial = try PageTrial(
            """
            signalbox.on('ask', (n) => new Promise((done) => { setTimeout(done, 5, n + 1); }));
            signalbox.call('asks', 1).then(report);
            """,
            configure: { $0.endsWhenIdle = true }
        )
        try trial.supervisor.register(
            Registration("asks", as: Int.self, from: .script()) { number, context in
                try await context.page?.call("ask", number, returning: Int.self, timeout: .seconds(60)) ?? 0
            }
        )
        #expect(try await trial.untilEnd() == ["2"])
    }

    @Test func aGracefulEndAwaitsCallsInFlightAndDrainsNewOnes() async throws {
        let trial = try PageTrial(
            """
            const code = (error) => error.code;
            (async () => {
              const reply = await signalbox.call('work');
              console.log('reply ' + reply);
              console.log('then ' + await signalbox.call('work').catch(code));
              console.log('posted ' + await webkit.messageHandlers.work.postMessage(1).catch(code));
            })();
            """
        )
        let gate = Gate()
        try trial.supervisor.register(
            Registration("work", as: RawBody.self, from: .script()) { _, _ in
                await gate.pass()
                return "done"
            }
        )
        let intake = try trial.supervisor.intake(for: PageTrial.source)
        let supervision = Task { try await trial.supervisor.run() }
        let run = Task { try await trial.engine.run(into: intake) }
        await gate.untilArrived(1)
        run.cancel()
        gate.open()
        try await run.value
        let lines = trial.log.all.filter { $0.hasPrefix("info ") && $0.hasSuffix("source=page") }
        #expect(
            lines == ["info reply done source=page", "info then drain source=page", "info posted drain source=page"]
        )
        #expect(trial.engine.scriptErrors == 0)
        supervision.cancel()
        try await supervision.value
    }

    @Test func aPageThatKeepsCallingDoesNotDelayTheEnd() async throws {
        let trial = try PageTrial(
            "report(1); (async () => { for (;;) await signalbox.call('work').catch(() => {}); })();"
        )
        try trial.supervisor.register(Registration("work", as: RawBody.self, from: .script()) { _, _ in })
        try await trial.run { _ = await trial.reports.first(1) }
        #expect(trial.supervisor.report.isClean)
    }

    @Test func aClosedIntakeEndsThePageAndDrainsBlockedCalls() async throws {
        let trial = try PageTrial(
            """
            const codes = {};
            for (let i = 0; i < 10; i += 1) {
              signalbox.call('work').then(() => 'handled', (error) => error.code).then((word) => {
                codes[word] = (codes[word] || 0) + 1;
                if (codes.handled + codes.drain === 10) console.log(JSON.stringify(codes));
              });
            }
            """,
            configure: { $0.batchMessages = 4 },
            window: WindowLimits(arrivals: 6)
        )
        let gate = Gate()
        try trial.supervisor.register(
            Registration("work", as: RawBody.self, from: .script()) { _, _ in await gate.pass() }
        )
        let opener = Task {
            await trial.waitForLog("draining")
            gate.open()
        }
        try await trial.run { await gate.untilArrived(1) }
        await opener.value
        // Six calls are handled: the first batch and two of the next. An early drain leaves only the first four.
        let line = trial.log.all.first { $0.contains("drain\":") } ?? ""
        let counts = line.split { !$0.isNumber }.compactMap { Int($0) }
        #expect(counts.contains(4) && counts.contains(6), "\(trial.log.all)")
    }

    @Test func closingThePageSettlesItsCallsAndAwaitsTheirOutcomes() async throws {
        let trial = try PageTrial(
            "report(1); signalbox.call('work').catch((error) => { console.log('it was ' + error.code); });"
        )
        let gate = Gate()
        try trial.supervisor.register(
            Registration("work", as: RawBody.self, from: .script()) { _, _ in await gate.pass() }
        )
        let intake = try trial.supervisor.intake(for: PageTrial.source)
        let supervision = Task { try await trial.supervisor.run() }
        let ended = EventList<Int>()
        let run = Task {
            try await trial.engine.run(into: intake)
            ended.append(contentsOf: [1])
        }
        await gate.untilArrived(1)
        trial.engine.page.close()
        await trial.waitForLog("it was closed")
        #expect(ended.all.isEmpty)
        gate.open()
        try await run.value
        #expect(trial.supervisor.report.unsettled == 0)
        supervision.cancel()
        try await supervision.value
    }

    @Test(arguments: [
        "for (;;) {}", "for (;;) signalbox.call('report', 1);", "for (;;) { try { console.log(1); } catch {} }",
    ])
    func closingEndsARunningScript(script: String) async throws {
        try await EndTests.close(whileItRuns: script)
    }

    /// Runs in a separate process, which may abort.
    @Test func closingEndsAnEndlessPromiseChain() async {
        await AbortingProcess.retryAfterAborts {
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                AbortingProcess.reportAborts()
                try await EndTests.close(whileItRuns: "(async () => { for (;;) { console.log(1); await null; } })();")
            }
        }
    }

    private static func close(whileItRuns script: String) async throws {
        let trial = try PageTrial("report(0);", "setTimeout(() => { report(1); setTimeout(() => { \(script) }); }, 1);")
        try await trial.run {
            _ = await trial.reports.first(2)
            trial.engine.page.close()
        }
    }

    @Test func closingEndsABlockedPage() async throws {
        let trial = try PageTrial(
            "for (let i = 0; i < 100; i += 1) signalbox.call('work');",
            configure: { $0.batchMessages = 1 },
            window: WindowLimits(arrivals: 2)
        )
        let gate = Gate()
        try trial.supervisor.register(
            Registration("work", as: RawBody.self, from: .script()) { _, _ in await gate.pass() }
        )
        try await trial.run {
            await gate.untilArrived(1)
            trial.engine.page.close()
            gate.open()
        }
        #expect(trial.supervisor.report.total.handled <= 3)
    }

    @Test func closingDuringManyOutcomesLosesNone() async throws {
        for count in [1, 50, 150, 500] {
            let trial = try PageTrial(
                """
                for (let i = 0; i < 100; i += 1) (async () => { for (;;) await signalbox.call('count', i); })().catch(() => {});
                """
            )
            let page = trial.engine.page
            let counted = EventList<Int>()
            try trial.supervisor.register(
                Registration("count", as: Int.self, from: .script()) { number, _ in
                    counted.append(contentsOf: CollectionOfOne(number))
                    if counted.all.count == count { page.close() }
                }
            )
            try await trial.untilEnd()
            #expect(trial.supervisor.report.isClean)
            #expect(trial.supervisor.report.total.handled >= count)
        }
    }

    @Test func aSecondConcurrentRunIsRefused() async throws {
        let trial = try PageTrial("report(1);")
        try await trial.run {
            _ = await trial.reports.first(1)
            let intake = try trial.supervisor.intake(for: "another")
            let error = await #expect(throws: JSBridgeError.self) { try await trial.engine.run(into: intake) }
            #expect(error?.code == .alreadyRunning)
        }
    }

    @Test func messagesWaitForTheNextRunAndAClosedPageRefusesThem() async throws {
        let trial = try PageTrial(
            "signalbox.on('item', (body) => { report(body); });",
            configure: { $0.endsWhenIdle = true }
        )
        let intake = try trial.supervisor.intake(for: PageTrial.source)
        let supervision = Task { try await trial.supervisor.run() }
        try await trial.engine.run(into: intake)
        try trial.engine.page.send("item", 1)
        try await trial.engine.run(into: intake)
        #expect(trial.reports.all == ["1"])
        trial.engine.page.close()
        #expect(throws: SendRefused.closed) { try trial.engine.page.send("item", 2) }
        try await trial.engine.run(into: intake)
        try trial.engine.page.send("item", 3)
        supervision.cancel()
        try await supervision.value
    }

    @Test func aRunInACancelledTaskEnds() async throws {
        let trial = try PageTrial("report(1);")
        let intake = try trial.supervisor.intake(for: PageTrial.source)
        let run = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await trial.engine.run(into: intake)
        }
        try await run.value
    }
}
