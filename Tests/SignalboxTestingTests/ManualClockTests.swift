import SignalboxCore
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct ManualClockTests {
    @Test func advancingWakesOnlyExpiredSleepers() async throws {
        let clock = ManualClock()
        let woken = Watched<Set<Int>>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seconds in 1...5 {
                group.addTask {
                    try await clock.sleep(for: .seconds(seconds))
                    woken.change { _ = $0.insert(seconds) }
                }
            }
            await clock.untilAsleep(5)
            clock.advance(by: .seconds(3))
            await woken.until { $0.count == 3 }
            #expect(woken.value == [1, 2, 3])
            #expect(clock.sleepers == 2)
            #expect(clock.now.offset == .seconds(3))
            clock.advance(by: .seconds(2))
            try await group.waitForAll()
        }
        #expect(woken.value == [1, 2, 3, 4, 5])
    }

    @Test func aPastDeadlineReturnsImmediately() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(1))
        try await clock.sleep(until: ManualClock.Instant(offset: .seconds(1)))
        #expect(clock.sleepers == 0)
    }

    @Test func aCancelledSleepThrowsAndIsRemoved() async {
        let clock = ManualClock()
        let sleep = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.untilAsleep()
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
        #expect(clock.sleepers == 0)
    }

    @Test func aTickWaitsUntilWokenTasksSleepAgain() async {
        let clock = ManualClock()
        let rounds = Watched([0, 0, 0])
        await withTaskGroup(of: Void.self) { group in
            for timer in 0..<3 {
                group.addTask {
                    while (try? await clock.sleep(for: .milliseconds(100))) != nil {
                        rounds.change { $0[timer] += 1 }
                    }
                }
            }
            await clock.untilAsleep(3)
            for round in 1...50 {
                await clock.tick()
                #expect(rounds.value == [round, round, round])
            }
            await clock.tick(10)
            #expect(rounds.value == [60, 60, 60])
            group.cancelAll()
        }
    }

    @Test func tickingContinuesUntilTheWorkIsDone() async throws {
        let clock = ManualClock()
        let slept = try await clock.tick(every: .seconds(1)) {
            for _ in 0..<10 { try await clock.sleep(for: .seconds(100)) }
            return clock.now.offset
        }
        #expect(slept >= .seconds(1_000))
    }
}

@Suite(.timeLimit(.minutes(10))) struct RecordingTests {
    @Test func aSinkRecordsItsCallsInOrder() async {
        let sink = RecordingSink()
        async let second: Void = sink.untilSettled(2)
        async let first: Void = sink.untilSettled(1)
        sink.mayAcknowledge(7)
        sink.settle(7, .handled(reply: nil))
        sink.settle(8, .abandoned(.stop))
        _ = await (first, second)
        #expect(
            sink.events == [
                .mayAcknowledge(7), .settled(7, .handled(reply: nil)), .settled(8, .abandoned(.stop)),
            ]
        )
        #expect(sink.acknowledged == [7])
        #expect(sink.outcomes == [7: [.handled(reply: nil)], 8: [.abandoned(.stop)]])
    }

    @Test func aSenderRefusesWhenFullOrClosed() async throws {
        let sender = RecordingSender(limit: 2)
        async let sent = sender.untilSent(2)
        try sender.send("one", 1)
        try sender.send("two", id: ActionID("a"), body: Bytes("2"))
        #expect(throws: SendRefused.full) { try sender.send("three", 3) }
        sender.close()
        #expect(throws: SendRefused.closed) { try sender.send("four", 4) }
        #expect(
            await sent == [
                SentAction(action: "one", body: Bytes("1")),
                SentAction(action: "two", id: ActionID("a"), body: Bytes("2")),
            ]
        )
    }

    @Test func aGateAdmitsTheGivenNumberOfCallers() async {
        let gate = Gate()
        let passed = Watched(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    await gate.pass()
                    passed.change { $0 += 1 }
                }
            }
            await gate.untilArrived(3)
            #expect(passed.value == 0)
            gate.admit(2)
            await passed.until { $0 == 2 }
            gate.open()
        }
        #expect(passed.value == 3)
    }

    @Test func aCancelledWaitEnds() async {
        let value = Watched(0)
        let wait = Task { await value.until { $0 == 1 } }
        wait.cancel()
        #expect(await wait.value == false)
    }
}
