import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct DeadlineTests {
    private let clock = ManualClock()
    private let gate = Gate()

    private func router(_ handler: some NavigationHandler, after: RecordingHandler = RecordingHandler(name: "after"))
        throws
        -> NavigationRouter
    {
        try NavigationRouter([handler, after], fallback: .all, clock: clock)
    }

    @Test func aHandlerTimeoutCancelsTheNavigation() async throws {
        let after = RecordingHandler(name: "after")
        let router = try router(BlockedHandler(gate: gate), after: after)
        async let pending = router.decide(try request("https://shop.example/"))
        await gate.untilArrived(1)
        await clock.untilAsleep()
        clock.advance(by: .seconds(2))
        let verdict = try await pending
        #expect(verdict.policy == .cancel)
        #expect(verdict.decider == "waiting")
        #expect(verdict.reason.contains("2.0 seconds"))
        #expect(verdict.trace == [verdict.trace[0]])
        #expect(verdict.trace[0].answer == .timedOut)
        #expect(after.calls.all.isEmpty)
        gate.open()
    }

    @Test func aLateAnswerChangesNothing() async throws {
        let waiting = BlockedHandler(gate: gate)
        let router = try router(waiting)
        async let pending = router.decide(try request("https://shop.example/1"))
        await gate.untilArrived(1)
        await clock.untilAsleep()
        clock.advance(by: .seconds(2))
        let late = try await pending
        gate.open()
        _ = await waiting.returned.first(1)
        let next = await router.decide(try request("https://shop.example/2"))
        #expect(late.policy == .cancel)
        #expect(next.decision == .allow("late, but allowed"))
        #expect(next.text == "https://shop.example/2")
    }

    @Test func anAnswerJustBeforeTheDeadlineCounts() async throws {
        let router = try router(BlockedHandler(gate: gate))
        async let pending = router.decide(try request("https://shop.example/"))
        await gate.untilArrived(1)
        await clock.untilAsleep()
        clock.advance(by: .seconds(2) - .nanoseconds(1))
        gate.open()
        #expect(try await pending.decider == "waiting")
        #expect(try await pending.policy == .allow)
    }

    @Test func aHandlersOwnDeadlineTakesPrecedence() async throws {
        let router = try router(BlockedHandler(deadline: .milliseconds(100), gate: gate))
        async let pending = router.decide(try request("https://shop.example/"))
        await clock.untilAsleep()
        clock.advance(by: .milliseconds(100))
        #expect(try await pending.trace[0].answer == .timedOut)
        #expect(try await pending.reason.contains("0.1 seconds"))
        gate.open()
    }

    @Test func aHandlerMayHaveALongerDeadline() async throws {
        let router = try router(BlockedHandler(gate: gate).answering(within: .seconds(60)))
        #expect(router.handlerNames == ["waiting", "after"])
        async let pending = router.decide(try request("https://shop.example/"))
        await gate.untilArrived(1)
        await clock.untilAsleep()
        clock.advance(by: .seconds(59))
        gate.open()
        #expect(try await pending.decision == .allow("late, but allowed"))
    }

    @Test func aLateHandlersTaskIsCancelled() async throws {
        let handler = CancellableHandler()
        let router = try router(handler)
        async let pending = router.decide(try request("https://shop.example/"))
        await handler.begun.untilArrived(1)
        await clock.untilAsleep()
        clock.advance(by: .seconds(2))
        #expect(try await pending.trace[0].answer == .timedOut)
        #expect(await handler.ended.first(1) == ["cancelled"])
    }

    @Test func anAnswerEndsTheTimer() async throws {
        gate.open()
        let verdict = await (try router(BlockedHandler(gate: gate))).decide(try request("https://shop.example/"))
        #expect(verdict.policy == .allow)
        await clock.untilAwake()
        #expect(clock.sleepers == 0)
    }

    @Test func aFailingClockTimesOutImmediately() async throws {
        let router = try NavigationRouter([BlockedHandler(gate: gate)], fallback: .all, clock: BrokenClock())
        let verdict = await router.decide(try request("https://shop.example/"))
        #expect(verdict.policy == .cancel)
        #expect(verdict.trace.map(\.answer) == [.timedOut])
        gate.open()
    }

    @Test func aHandlerIsNotCalledForIrrelevantRequests() async throws {
        let calls = EventList<String>()
        let router = try NavigationRouter(fallback: .all) {
            try DeepLinkHandler(schemes: ["shop"]) { url in
                calls.append(contentsOf: [url.text])
                return true
            }
            try PathHandler(name: "path", patterns: ["/a"], hosts: ["other.example"]) { request, _ in
                calls.append(contentsOf: [request.url.text])
            }.answering(within: .seconds(1))
        }
        let verdict = await router.decide(try request("https://shop.example/a"))
        #expect(verdict.trace.map(\.answer) == [.passed, .passed])
        #expect(calls.all.isEmpty)
    }

    @Test func aSynchronousHandlerHasNoTimer() async throws {
        let clock = clock
        let sleepers = EventList<Int>()
        let recording = RecordingHandler(name: "recording") { _ in
            sleepers.append(contentsOf: [clock.sleepers])
            return nil
        }
        _ = await (try router(recording)).decide(try request("https://shop.example/"))
        #expect(sleepers.all == [0])
        #expect(clock.sleepers == 0)
    }

    @Test func cancellingTheCallerCancelsTheHandlerImmediately() async throws {
        let handler = CancellableHandler()
        let router = try router(handler)
        let question = try request("https://shop.example/")
        let asking = Task { await router.decide(question) }
        await handler.begun.untilArrived(1)
        asking.cancel()
        let verdict = await asking.value
        #expect(verdict.policy == .cancel)
        #expect(verdict.decider == "caller")
        #expect(verdict.trace.map(\.answer) == [.abandoned])
        #expect(await handler.ended.first(1) == ["cancelled"])
    }

    @Test func cancellingTheCallerDoesNotWaitForAHandlerThatIgnoresIt() async throws {
        let router = try router(BlockedHandler(gate: gate))
        let question = try request("https://shop.example/")
        let asking = Task { await router.decide(question) }
        await gate.untilArrived(1)
        asking.cancel()
        #expect(await asking.value.decider == NavigationVerdict.byCaller)
        gate.open()
    }

    @Test func aCancelledCallerCallsNoHandler() async throws {
        let recording = RecordingHandler(name: "recording") { _ in .all }
        let question = try request("https://shop.example/")
        for handlers in [[recording], []] {
            let router = try NavigationRouter(handlers, fallback: .all)
            let verdict = await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await router.decide(question)
            }.value
            #expect(verdict.policy == .cancel)
            #expect(verdict.decider == "caller")
        }
        #expect(recording.calls.all.isEmpty)
    }

    @Test func theNumberOfHungCallsIsLimited() async throws {
        let router = try router(BlockedHandler(gate: gate))
        let question = try request("https://shop.example/")
        await withTaskGroup(of: NavigationVerdict.self) { group in
            for _ in 0..<NavigationRouter.maximumCalls { group.addTask { await router.decide(question) } }
            await gate.untilArrived(NavigationRouter.maximumCalls)
            await clock.untilAsleep(NavigationRouter.maximumCalls)
            clock.advance(by: .seconds(2))
            for await verdict in group { #expect(verdict.trace.map(\.answer) == [.timedOut]) }
        }
        let derived = try router.appending(RecordingHandler(name: "last"))
        let refused = await derived.decide(question)
        #expect(refused.policy == .cancel)
        #expect(refused.decider == "waiting")
        #expect(refused.reason.contains("have not returned"))
        #expect(gate.arrived == NavigationRouter.maximumCalls)
        gate.open()
    }

    @Test func returnedCallsDoNotCountTowardsTheLimit() async throws {
        let router = try NavigationRouter([ImmediateHandler(name: "waits")], fallback: .all)
        let question = try request("https://shop.example/")
        for _ in 0...NavigationRouter.maximumCalls {
            let verdict = await router.decide(question)
            guard verdict.decider == NavigationVerdict.byFallback else {
                Issue.record("\(verdict)")
                return
            }
        }
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .seconds(3_601)])
    func anInvalidDeadlineIsRefused(deadline: Duration) throws {
        let gate = gate
        #expect(code { _ = try NavigationRouter([], fallback: .all, handlerDeadline: deadline) } == .invalidDeadline)
        let handler = BlockedHandler(gate: gate).answering(within: deadline)
        #expect(code { _ = try NavigationRouter([handler], fallback: .all) } == .invalidDeadline)
    }
}

extension ManualClock {
    /// Waits until no task sleeps on the clock; returns early when the current task is cancelled.
    fileprivate func untilAwake() async {
        while !Task.isCancelled, sleepers > 0, !Task.isCancelled { await Task.yield() }
    }
}

/// A clock that cannot sleep.
private struct BrokenClock: Clock {
    struct Failure: Error {}

    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        throw Failure()
    }
}
