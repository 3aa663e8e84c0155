import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

@Suite(.timeLimit(.minutes(10))) struct NavigationGateTests {
    /// A handler that waits at a gate, even when its task is cancelled.
    private struct Waiting: NavigationHandler {
        let name = "waiting"
        let deadline: Duration? = .seconds(3_600)
        let gate: Gate

        func decide(_ request: NavigationRequest) async -> NavigationDecision? {
            await gate.pass()
            return .allow("the gate was opened")
        }
    }

    private struct Trial {
        let gate: NavigationGate
        let clock = ManualClock()
        let door = Gate()
        let counters = PageCounters()
        let seen = EventList<String>()

        init(waiting: Int = 100) throws {
            // The handler's own limit uses a clock that never advances.
            let router = try NavigationRouter(
                [Waiting(gate: door)],
                fallback: .cancel("nobody"),
                clock: ManualClock()
            )
            var configuration = try WebViewConfiguration.testing(router: router)
            configuration.navigationsWaiting = waiting
            configuration.navigationDeadline = .seconds(5)
            gate = NavigationGate(configuration, counters: counters, clock: clock) { [seen] request, verdict in
                seen.append("\(request?.kind.rawValue ?? "no request"): \(verdict.policy)")
            }
        }

        func decide(_ text: String = "https://app.example/a") async -> NavigationVerdict {
            await gate.decide(text, kind: .link, frame: .unknown, page: nil)
        }
    }

    @Test func theChainDecides() async throws {
        let trial = try Trial()
        trial.door.open()
        let verdict = await trial.decide("HTTPS://App.Example/a/../b")
        #expect(verdict.policy == .allow && verdict.decider == "waiting")
        #expect(verdict.url?.text == "https://app.example/b", "the URL of the verdict is normalized")
        #expect(trial.seen.all == ["link: allow"])
        #expect(trial.counters.value.navigationsUndecided == 0)
    }

    @Test func anInvalidURLIsCancelledWithItsReason() async throws {
        let trial = try Trial()
        let verdict = await trial.decide("https://user@[")
        #expect(verdict.policy == .cancel && verdict.decider == NavigationVerdict.byURL)
        #expect(trial.seen.all == ["no request: cancel"])
    }

    @Test func aMissedDeadlineCancelsTheNavigation() async throws {
        let trial = try Trial()
        async let verdict = trial.decide()
        await trial.door.untilArrived(1)
        await trial.clock.untilAsleep()
        trial.clock.advance(by: .seconds(5))
        let late = await verdict
        #expect(late.policy == .cancel && late.decider == NavigationVerdict.byCaller)
        #expect(late.reason == "no verdict within 5.0 seconds")
        #expect(late.url?.text == "https://app.example/a")
        #expect(trial.seen.all == ["link: cancel"], "one verdict, although the handler decides later")
        #expect(trial.counters.value.navigationsUndecided == 1)
        trial.door.open()
    }

    @Test func theChainStillDecidesJustBeforeTheDeadline() async throws {
        let trial = try Trial()
        async let verdict = trial.decide()
        await trial.door.untilArrived(1)
        await trial.clock.untilAsleep()
        trial.clock.advance(by: .milliseconds(4_999))
        trial.door.open()
        let inTime = await verdict
        #expect(inTime.policy == .allow)
    }

    @Test func navigationsBeyondTheBoundAreCancelledAtOnce() async throws {
        let trial = try Trial(waiting: 3)
        async let first = trial.decide()
        async let second = trial.decide()
        async let third = trial.decide()
        await trial.door.untilArrived(3)
        for _ in 0..<10 {
            let verdict = await trial.decide()
            #expect(verdict.policy == .cancel && verdict.reason == "3 navigations are waiting for a verdict")
        }
        #expect(trial.counters.value.navigationsUndecided == 10)
        trial.door.open()
        let policies = await [first.policy, second.policy, third.policy]
        #expect(policies == [.allow, .allow, .allow])
        #expect(await trial.decide().policy == .allow, "there is room again")
        #expect(trial.seen.all.count == 14)
    }

    @Test func aCancelledTaskIsAnsweredAtOnce() async throws {
        let trial = try Trial()
        let task = Task { await trial.decide() }
        await trial.door.untilArrived(1)
        task.cancel()
        let verdict = await task.value
        #expect(verdict.policy == .cancel && verdict.decider == NavigationVerdict.byCaller)
        #expect(trial.seen.all.count == 1)
        trial.door.open()
    }
}
