import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import Signalbox

/// What happens to messages when there is no room, before, after and at the end of a run, and when their tasks are cancelled.
@Suite(.timeLimit(.minutes(5))) struct PushStoppingTests {
    private func makeSupervisor(
        _ shop: PushAdapter<CallerFacts>,
        window: WindowLimits = WindowLimits(),
        _ work: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws -> Supervisor {
        let supervisor = Supervisor.make()
        try supervisor.add(shop, window: window)
        try supervisor.register(
            Registration("work", as: Int.self, from: .source("shop")) { number, _ in await work(number) }
        )
        return supervisor
    }

    private func message(_ number: Int) -> PushMessage { PushMessage("work", body: Bytes("\(number)")) }

    /// Polls, because no event reports that a task has begun to wait.
    private func untilBlocked(_ count: Int, _ shop: PushAdapter<CallerFacts>) async {
        while !Task.isCancelled, shop.blocked != count { await Task.yield() }
    }

    private func untilQueued(_ count: Int, _ shop: PushAdapter<CallerFacts>) async {
        while !Task.isCancelled, shop.waiting != count { await Task.yield() }
    }

    @Test func messagesWaitForTheFirstRun() async throws {
        let shop = PushAdapter(source: "shop")
        let calls = EventList<Int>()
        let supervisor = try makeSupervisor(shop) { calls.append($0) }
        var submissions: [PushSubmission] = []
        for number in 0..<10 { submissions.append(await shop.post(message(number))) }
        #expect(shop.waiting == 10 && submissions.allSatisfy { $0.currentOutcome == nil })
        try await supervisor.whileRunning {
            for submission in submissions { #expect(await submission.outcome == .handled(reply: nil)) }
        }
        #expect(calls.all == Array(0..<10) && shop.waiting == 0)
    }

    @Test func aFullQueueLetsCallsWaitInTheirOrder() async throws {
        let shop = PushAdapter(source: "shop", queueLimit: 2)
        let calls = EventList<Int>()
        let supervisor = try makeSupervisor(shop) { calls.append($0) }
        var tasks: [Task<Outcome, Never>] = []
        for number in 0..<6 {
            tasks.append(Task { await shop.submit(message(number)) })
            await untilQueued(min(number + 1, 2), shop)
            await untilBlocked(max(0, number - 1), shop)
        }
        #expect(shop.waiting == 2 && shop.blocked == 4)
        try await supervisor.whileRunning {
            for task in tasks { #expect(await task.value == .handled(reply: nil)) }
        }
        #expect(calls.all == Array(0..<6) && shop.blocked == 0)
    }

    @Test func theBytesOfTheQueueAreLimited() async throws {
        let shop = PushAdapter(source: "shop", queueBytes: 4)
        let supervisor = try makeSupervisor(shop)
        let large = await shop.post(PushMessage("work", body: Bytes("1000000")))
        #expect(shop.waiting == 1)
        let small = Task { await shop.submit(message(2)) }
        await untilBlocked(1, shop)
        try await supervisor.whileRunning {
            #expect(await large.outcome == .handled(reply: nil))
            #expect(await small.value == .handled(reply: nil))
        }
    }

    @Test func cancellationWithdrawsAMessageThatNoRunHasTaken() async throws {
        let shop = PushAdapter(source: "shop", queueLimit: 1)
        let calls = EventList<Int>()
        let supervisor = try makeSupervisor(shop) { calls.append($0) }
        let queued = Task { await shop.submit(message(1)) }
        await untilQueued(1, shop)
        let blocked = Task { await shop.submit(message(2)) }
        await untilBlocked(1, shop)
        let last = Task { await shop.submit(message(3)) }
        await untilBlocked(2, shop)
        blocked.cancel()
        #expect(await blocked.value == .abandoned(.stop))
        #expect(shop.blocked == 1 && shop.waiting == 1)
        queued.cancel()
        #expect(await queued.value == .abandoned(.stop))
        // The last message has taken the place.
        #expect(shop.blocked == 0 && shop.waiting == 1)
        try await supervisor.whileRunning { #expect(await last.value == .handled(reply: nil)) }
        #expect(calls.all == [3])
    }

    @Test func aCancelledTaskSubmitsNothing() async throws {
        let shop = PushAdapter(source: "shop")
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await shop.submit(message(1))
        }
        #expect(await task.value == .abandoned(.stop))
        #expect(shop.waiting == 0)
    }

    @Test func cancellationDoesNotHideTheOutcomeOfAMessageThatRuns() async throws {
        let shop = PushAdapter(source: "shop")
        let gate = Gate()
        let supervisor = try makeSupervisor(shop) { _ in await gate.pass() }
        try await supervisor.whileRunning {
            let task = Task { await shop.submit(message(1)) }
            await gate.untilArrived(1)
            task.cancel()
            gate.open()
            #expect(await task.value == .handled(reply: nil))
        }
    }

    @Test func aGracefulStopWaitsForTheOutcomesOfTakenMessages() async throws {
        let shop = PushAdapter(source: "shop", batchLimit: 1)
        let gate = Gate()
        let supervisor = try makeSupervisor(shop, window: WindowLimits(arrivals: 2)) { _ in await gate.pass() }
        let run = Task { try await supervisor.run() }
        var submissions: [PushSubmission] = []
        for number in 0..<5 { submissions.append(await shop.post(message(number))) }
        await gate.untilArrived(1)
        // Two are in the window, and the run waits with a third for room.
        await untilQueued(2, shop)
        supervisor.shutDown()
        #expect(await submissions[4].outcome == .abandoned(.drain))
        #expect(await shop.submit(message(5)) == .abandoned(.drain))
        #expect(submissions[0].currentOutcome == nil)
        gate.open()
        try await run.value
        let handled = Outcome.handled(reply: nil)
        let drained = Outcome.abandoned(.drain)
        #expect(submissions.map(\.currentOutcome) == [handled, handled, drained, drained, drained])
        #expect(await shop.submit(message(6)) == drained)
        #expect(supervisor.report.total.handled == 2 && supervisor.report.unsettled == 0)
    }

    @Test func aCancelledRunAbandonsAllMessages() async throws {
        let shop = PushAdapter(source: "shop")
        let gate = Gate()
        let supervisor = try makeSupervisor(shop) { _ in await gate.pass() }
        let run = Task { try await supervisor.run() }
        let submissions = [await shop.post(message(1)), await shop.post(message(2))]
        await gate.untilArrived(1)
        run.cancel()
        for submission in submissions {
            guard case .abandoned = await submission.outcome else {
                Issue.record("the message was not abandoned")
                continue
            }
            #expect(await submission.isInCustody == false)
        }
        gate.open()
        try await run.value
    }

    @Test func aRunThatIsCancelledBeforeItStartsAbandonsItsMessages() async throws {
        let shop = PushAdapter(source: "shop")
        let supervisor = try makeSupervisor(shop)
        let submission = await shop.post(message(1))
        let run = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await supervisor.run()
        }
        try await run.value
        guard case .abandoned = await submission.outcome else {
            Issue.record("the message was not abandoned")
            return
        }
    }

    @Test func aSourceThatIsRemovedBeforeItsRunAbandonsItsMessages() async throws {
        let shop = PushAdapter(source: "shop")
        let supervisor = try makeSupervisor(shop)
        try supervisor.add(PushAdapter(source: "other"))
        let submission = await shop.post(message(1))
        #expect(await supervisor.remove(source: "shop"))
        try await supervisor.whileRunning {
            #expect(await submission.outcome == .abandoned(.drain))
        }
    }

    @Test func anAdapterCanRunAgain() async throws {
        let shop = PushAdapter(source: "shop")
        for _ in 0..<3 {
            let supervisor = try makeSupervisor(shop)
            try await supervisor.whileRunning {
                while !shop.isRunning { await Task.yield() }
                #expect(await shop.submit(message(1)) == .handled(reply: nil))
            }
            #expect(await shop.submit(message(2)) == .abandoned(.drain))
        }
    }

    @Test func aSecondRunAtTheSameTimeIsRefused() async throws {
        let shop = PushAdapter(source: "shop")
        let first = try makeSupervisor(shop)
        let second = try makeSupervisor(shop)
        try await first.whileRunning {
            while !shop.isRunning { await Task.yield() }
            let error = await #expect(throws: PushAdapterError.self) { try await second.run() }
            #expect(error?.code == .alreadyRunning)
            #expect(error?.description.hasSuffix("[PushAdapterError.alreadyRunning]") == true)
            #expect(await shop.submit(message(1)) == .handled(reply: nil))
        }
    }

    @Test func finishingHandlesWhatIsQueuedAndEndsTheRun() async throws {
        let shop = PushAdapter(source: "shop", queueLimit: 2)
        let calls = EventList<Int>()
        let supervisor = try makeSupervisor(shop) { calls.append($0) }
        var tasks: [Task<Outcome, Never>] = []
        for number in 0..<3 {
            tasks.append(Task { await shop.submit(message(number)) })
            await untilQueued(min(number + 1, 2), shop)
        }
        await untilBlocked(1, shop)
        shop.finish()
        #expect(await shop.submit(message(3)) == .abandoned(.drain))
        try await supervisor.run()
        for task in tasks { #expect(await task.value == .handled(reply: nil)) }
        #expect(calls.all == [0, 1, 2])
    }
}
