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
    @Suite struct PageLifeTests {
        @Test func aReloadDropsThePendingCallsOfTheOldDocument() async throws {
            let trial = try WebTrial(home: [
                "/": WebTrial.page(
                    """
                    signalbox.on('ask', () => { report('asked'); return new Promise(() => {}); });
                    report('loaded');
                    signalbox.call('work');
                    """
                )
            ])
            let gate = Gate()
            try trial.supervisor.register(
                Registration("work", as: RawBody.self, from: .script()) { _, _ in await gate.pass() }
            )
            try await trial.run {
                await gate.untilArrived(1)
                async let answer = Self.callUnansweredListener(trial)
                _ = await trial.reports.first(2)
                trial.engine.reload()
                #expect(await answer?.code == .closed)
                #expect(await trial.reports.first(3) == [#""loaded""#, #""asked""#, #""loaded""#])
                gate.open()
                await gate.untilArrived(2)
            }
            #expect(trial.supervisor.report.unsettled == 0)
        }

        /// Calls a listener that does not answer.
        private static func callUnansweredListener(_ trial: WebTrial) async -> PageCallError? {
            do throws(PageCallError) {
                try await trial.engine.page.call("ask", 1, timeout: .seconds(600))
                return nil
            } catch {
                return error
            }
        }

        @Test func theProgramLoadsAnotherPage() async throws {
            let trial = try WebTrial(home: [
                "/": WebTrial.page("report('first');"), "/second": WebTrial.page("report('second');"),
            ])
            let url = try URLText("\(trial.home.origin)/second")
            trial.engine.load(url)
            try await trial.run {
                _ = await trial.reports.first(1)
                trial.engine.load(url)
                #expect(await trial.reports.first(2) == [#""first""#, #""second""#])
            }
        }

        @Test func closingEndsThePageAtOnceAndTheRunAwaitsOutcomes() async throws {
            let trial = try WebTrial(home: ["/": WebTrial.page("signalbox.call('work');")])
            let gate = Gate()
            try trial.supervisor.register(
                Registration("work", as: RawBody.self, from: .script()) { _, _ in await gate.pass() }
            )
            let intake = try trial.supervisor.intake(for: WebTrial.source)
            let supervision = Task { try await trial.supervisor.run() }
            let ended = EventList<Int>()
            let run = Task {
                try await trial.engine.run(into: intake)
                ended.append(1)
            }
            await gate.untilArrived(1)
            trial.engine.page.close()
            #expect(throws: SendRefused.closed) { try trial.engine.page.send("x", id: nil, body: Bytes("1")) }
            #expect(ended.all.isEmpty)
            gate.open()
            try await run.value
            #expect(trial.supervisor.report.unsettled == 0)
            supervision.cancel()
            try await supervision.value
        }

        @Test func stoppingAnswersCallsInFlightAndDrainsNewOnes() async throws {
            let trial = try WebTrial(home: [
                "/": WebTrial.page(
                    """
                    const tell = (text) => {
                      const request = new XMLHttpRequest();
                      request.open('GET', '/told?' + text, false);
                      request.send();
                    };
                    (async () => {
                      const told = [await signalbox.call('work').catch(code)];
                      told.push(await signalbox.call('work').catch(code));
                      tell(told.join('-'));
                    })();
                    """
                )
            ])
            let gate = Gate()
            try trial.supervisor.register(
                Registration("work", as: RawBody.self, from: .script()) { _, _ in
                    await gate.pass()
                    return "done"
                }
            )
            let intake = try trial.supervisor.intake(for: WebTrial.source)
            let supervision = Task { try await trial.supervisor.run() }
            let run = Task { try await trial.engine.run(into: intake) }
            await gate.untilArrived(1)
            run.cancel()
            gate.open()
            try await run.value
            let reports = trial.home.requests.compactMap { head in
                head.split(separator: " ")[1].split(separator: "?").dropFirst().first
            }
            #expect(reports == ["done-drain"])
            #expect(trial.supervisor.report.unsettled == 0)
            supervision.cancel()
            try await supervision.value
        }

        @Test func aKilledProcessRestartsAndCallsInFlightSettle() async throws {
            await WebProcesses.untilAllHaveEnded()
            let trial = try WebTrial(home: [
                "/": WebTrial.page(
                    """
                    signalbox.on('ask', () => { report('asked'); return new Promise(() => {}); });
                    report('loaded');
                    signalbox.call('work');
                    """
                )
            ])
            let gate = Gate()
            try trial.supervisor.register(
                Registration("work", as: RawBody.self, from: .script()) { _, _ in await gate.pass() }
            )
            try await trial.run {
                await gate.untilArrived(1)
                async let answer = Self.callUnansweredListener(trial)
                _ = await trial.reports.first(2)
                #expect(WebProcesses.ofThisTest().count == 1)
                for process in WebProcesses.ofThisTest() { WebProcesses.kill(process) }
                #expect(await answer?.code == .closed)
                #expect(await trial.reports.first(3) == [#""loaded""#, #""asked""#, #""loaded""#])
                gate.open()
                await trial.waitForLog("the page's process has ended: it crashed")
            }
            #expect(trial.engine.counts.processesEnded == 1)
            #expect(trial.supervisor.report.unsettled == 0)
        }

        @Test func tooManyPageFailuresEndTheRun() async throws {
            let trial = try WebTrial(
                home: ["/": WebTrial.page("report('loaded');")],
                configure: { $0.reloads = 2 }
            )
            let intake = try trial.supervisor.intake(for: WebTrial.source)
            let supervision = Task { try await trial.supervisor.run() }
            let run = Task { try await trial.engine.run(into: intake) }
            for count in 1...3 {
                _ = await trial.reports.first(count)
                for process in WebProcesses.ofThisTest() { WebProcesses.kill(process) }
            }
            let error = await #expect(throws: JSBridgeError.self) { try await run.value }
            #expect(error?.code == .pageFailed)
            supervision.cancel()
            try await supervision.value
        }

        @Test func anUnreachableServerIsRetried() async throws {
            let trial = try WebTrial(
                home: ["/": WebTrial.page("report('loaded');")],
                configure: { $0.reloads = 1 }
            )
            trial.home.close()
            let intake = try trial.supervisor.intake(for: WebTrial.source)
            let supervision = Task { try await trial.supervisor.run() }
            let error = await #expect(throws: JSBridgeError.self) { try await trial.engine.run(into: intake) }
            #expect(error?.code == .pageFailed)
            supervision.cancel()
            try await supervision.value
        }

        @Test func aHungPageIsTerminatedAndReloaded() async throws {
            let trial = try WebTrial(
                home: [
                    "/": WebTrial.page("report('loaded'); signalbox.on('hang', () => { for (;;); });")
                ],
                configure: { $0.unresponsiveLimit = .seconds(3) }
            )
            try await trial.run {
                _ = await trial.reports.first(1)
                let error = await #expect(throws: PageCallError.self) {
                    try await trial.engine.page.call("hang", 1, timeout: .seconds(600))
                }
                #expect(error?.code == .closed)
                await trial.waitForLog("the page did not respond")
                _ = await trial.reports.first(2)
            }
        }

        @Test func messagesToAHungPageAreBounded() async throws {
            let trial = try WebTrial(
                home: [
                    "/": WebTrial.page("report('loaded'); signalbox.on('hang', () => { for (;;); });")
                ],
                configure: { $0.messagesToPage = 10 }
            )
            try await trial.run {
                _ = await trial.reports.first(1)
                try trial.engine.page.send("hang", id: nil, body: Bytes("1"))
                var taken = 0
                while (try? trial.engine.page.send("x", id: nil, body: Bytes("1"))) != nil {
                    taken += 1
                    await Task.yield()
                    guard taken < 100_000 else { break }
                }
                #expect(taken < 100_000)
                trial.engine.page.close()
            }
        }

        @Test func runsMayFollowEachOtherButNotOverlap() async throws {
            let trial = try WebTrial(home: ["/": WebTrial.page("report('loaded');")])
            let intake = try trial.supervisor.intake(for: WebTrial.source)
            let supervision = Task { try await trial.supervisor.run() }
            for count in 1...2 {
                let run = Task { try await trial.engine.run(into: intake) }
                _ = await trial.reports.first(count)
                let error = await #expect(throws: JSBridgeError.self) { try await trial.engine.run(into: intake) }
                #expect(error?.code == .alreadyRunning)
                trial.engine.page.close()
                try await run.value
            }
            supervision.cancel()
            try await supervision.value
        }

        @Test func aHundredPagesLeakNoResources() async throws {
            let trial = try WebTrial(home: ["/": WebTrial.page("report('loaded'); signalbox.call('nobody');")])
            let intake = try trial.supervisor.intake(for: WebTrial.source)
            let supervision = Task { try await trial.supervisor.run() }
            for count in 1...100 {
                let (reports, verdicts) = (trial.reports.all.count, trial.verdicts.all.count)
                let run = Task { try await trial.engine.run(into: intake) }
                switch count % 4 {
                case 0: run.cancel()
                case 1:
                    _ = await trial.verdicts.first(verdicts + 1)
                    run.cancel()
                case 2:
                    _ = await trial.verdicts.first(verdicts + 1)
                    trial.engine.page.close()
                default:
                    _ = await trial.reports.first(reports + 1)
                    trial.engine.page.close()
                }
                try await run.value
            }
            #expect(trial.reports.all.count >= 25)
            supervision.cancel()
            try await supervision.value
            #expect(trial.supervisor.report.unsettled == 0)
            await OpenObjects.untilAllAreReleased()
            await WebProcesses.untilAllHaveEnded()
        }
    }
}
#endif
