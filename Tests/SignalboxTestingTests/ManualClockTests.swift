import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct ManualClockTests {
    @Test func everySleeperWhoseTimeHasComeIsWokenAndNoOther() async throws {
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

    @Test func aDeadlineThatHasPassedIsNotSleptFor() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(1))
        try await clock.sleep(until: ManualClock.Instant(offset: .seconds(1)))
        #expect(clock.sleepers == 0)
    }

    @Test func aCancelledSleepThrowsAndIsForgotten() async {
        let clock = ManualClock()
        let sleep = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.untilAsleep()
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
        #expect(clock.sleepers == 0)
    }

    @Test func aTickReturnsWhenAllThatWereWokenSleepAgain() async {
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

    @Test func tickingGoesOnUntilTheWorkIsDone() async throws {
        let clock = ManualClock()
        let slept = try await clock.tick(every: .seconds(1)) {
            for _ in 0..<10 { try await clock.sleep(for: .seconds(100)) }
            return clock.now.offset
        }
        #expect(slept >= .seconds(1_000))
    }
}
