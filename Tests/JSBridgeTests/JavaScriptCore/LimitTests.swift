import JSBridge
import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

// Serialized, because some of the tests use a whole processor.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LimitTests {
    @Test(arguments: [
        "while (true) {}", "for (;;) { try { while (true) {} } catch {} finally { while (true) {} } }",
        "Promise.resolve().then(() => { while (true) {} });", "setTimeout(() => { for (;;) JSON.stringify([1]); });",
        "/(a+)+b/.test('a'.repeat(60)); for (;;) {}",
    ])
    func aTurnOverTheTimeLimitEndsThePage(script: String) async throws {
        try await LimitTests.expectTimeLimit(script)
    }

    /// Runs in a separate process, which may abort.
    @Test func anEndlessPromiseChainEndsThePage() async {
        await AbortingProcess.retryAfterAborts {
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                AbortingProcess.reportAborts()
                try await LimitTests.expectTimeLimit("(async () => { for (;;) { await null; console.debug(1); } })();")
            }
        }
    }

    private static func expectTimeLimit(_ script: String) async throws {
        let trial = try PageTrial(
            script,
            "setTimeout(() => report('too late'), 1);",
            configure: { configuration in
                configuration.executionTimeLimit = .milliseconds(100)
                configuration.endsWhenIdle = true
            }
        )
        let error = await #expect(throws: JSBridgeError.self) { try await trial.untilEnd() }
        #expect(error?.code == .executionTimeLimit)
        #expect(error?.detail == "a script ran for 0.1 seconds without returning")
        #expect(error?.source == "page")
        #expect(trial.reports.all.isEmpty)
    }

    @Test func blockedTimeDoesNotCountAsExecutionTime() async throws {
        let trial = try PageTrial(
            "for (let i = 0; i < 5; i += 1) signalbox.call('slow'); report(1);",
            configure: { configuration in
                configuration.executionTimeLimit = .seconds(1)
                configuration.batchMessages = 1
                configuration.endsWhenIdle = true
            },
            window: WindowLimits(arrivals: 1)
        )
        try trial.supervisor.register(
            Registration("slow", as: RawBody.self, from: .script()) { _, _ in
                try await Task.sleep(for: .milliseconds(250))
            }
        )
        #expect(try await trial.untilEnd() == ["1"])
    }

    /// Runs in a separate process, which may abort, and whose end also ends the detached thread.
    @Test func anotherPageCanRunAfterAnEndlessPromiseChain() async {
        await AbortingProcess.retryAfterAborts {
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                AbortingProcess.reportAborts()
                try await LimitTests.expectTimeLimitAndAnotherRun()
            }
        }
    }

    private static func expectTimeLimitAndAnotherRun() async throws {
        // The chain lasts far longer than its detection on any machine, and still ends.
        let trial = try PageTrial(
            """
            signalbox.call('report', 1);
            signalbox.on('never', () => new Promise(() => {}));
            signalbox.on('spin', async () => { for (let i = 0; i < 3e8; i += 1) await null; });
            """,
            configure: { $0.executionTimeLimit = .milliseconds(200) }
        )
        let page = trial.engine.page
        try page.send("spin", 1)
        let error = await #expect(throws: JSBridgeError.self) { try await trial.untilEnd() }
        #expect(error?.code == .executionTimeLimit)
        #expect(trial.reports.all == ["1"])
        let supervisor = Supervisor(
            configuration: .patient,
            logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
        )
        let second = try supervisor.intake(for: "page")
        // If the page begins before it is cancelled, its call must have an outcome.
        let supervising = Task { try await supervisor.run() }
        let run = Task { try await trial.engine.run(into: second) }
        run.cancel()
        try await run.value
        supervising.cancel()
        try await supervising.value
    }

    @Test(arguments: [
        "const kept = []; setInterval(() => { for (let i = 0; i < 20000; i += 1) kept.push({ i }); }, 1);",
        "const kept = []; setInterval(() => kept.push(new Uint8Array(1e6)), 1);",
        "let kept = ''; setInterval(() => { kept += 'x'.repeat(1e6) + kept.length; }, 1);",
    ])
    func aPageOverTheHeapLimitEnds(script: String) async throws {
        let trial = try PageTrial(script, configure: { $0.heapLimit = 16 * 1_048_576 })
        let error = await #expect(throws: JSBridgeError.self) { try await trial.untilEnd() }
        #expect(error?.code == .heapLimit)
    }

    @Test(arguments: [
        "const kept = []; for (;;) kept.push(new Array(1000).fill(kept.length));",
        "let kept = {}; for (;;) kept = { kept, text: 'x' + Math.random() };",
        "const kept = []; for (;;) kept.push(new Uint8Array(1e6).fill(1));",
        "Promise.resolve().then(() => { const kept = []; for (;;) kept.push({}, [kept.length]); });",
    ])
    func aTurnOverTheHeapLimitEndsThePage(script: String) async throws {
        let trial = try PageTrial(
            script,
            configure: { configuration in
                configuration.heapLimit = 64 * 1_048_576
                configuration.executionTimeLimit = .seconds(600)
            }
        )
        let error = await #expect(throws: JSBridgeError.self) { try await trial.untilEnd() }
        #expect(error?.code == .heapLimit)
    }

    @Test func garbageWithinATurnDoesNotCountAsHeap() async throws {
        let trial = try PageTrial(
            "for (let i = 0; i < 5000; i += 1) new Uint8Array(1e6).fill(1); report('done');",
            configure: { configuration in
                configuration.heapLimit = 64 * 1_048_576
                configuration.executionTimeLimit = .seconds(600)
                configuration.endsWhenIdle = true
            }
        )
        #expect(try await trial.untilEnd() == [#""done""#])
    }

    @Test func garbageAcrossTurnsDoesNotCountAsHeap() async throws {
        let trial = try PageTrial(
            """
            let rounds = 0;
            const id = setInterval(() => {
              for (let i = 0; i < 100; i += 1) new Uint8Array(1e5).fill(1);
              rounds += 1;
              if (rounds === 100) { clearInterval(id); report('done'); }
            }, 3);
            """,
            configure: { configuration in
                configuration.heapLimit = 32 * 1_048_576
                configuration.endsWhenIdle = true
            }
        )
        #expect(try await trial.untilEnd() == [#""done""#])
    }

    @Test func configurationsOutOfRangeAreRefused() throws {
        func isRefused(_ change: (inout JavaScriptCoreConfiguration) -> Void) -> Bool {
            do {
                _ = try PageTrial("", configure: change)
                return false
            } catch {
                return (error as? JSBridgeError)?.code == .invalidConfiguration
            }
        }
        #expect(isRefused { $0.executionTimeLimit = .zero })
        #expect(isRefused { $0.executionTimeLimit = .seconds(3_601) })
        #expect(isRefused { $0.heapLimit = 1_000 })
        #expect(isRefused { $0.timerLimit = 0 })
        #expect(isRefused { $0.messagesToPage = 1_000_001 })
        #expect(isRefused { $0.messagesWithoutListener = 0 })
        #expect(isRefused { $0.batchMessages = 1_001 })
        #expect(isRefused { $0.consoleLinesPerSecond = 0 })
        #expect(!isRefused { _ in })
    }
}
