import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@testable import Signalbox

@Suite(.timeLimit(.minutes(10))) struct RateLimitTests {
    private static func batch(_ first: Int, _ count: Int, from source: SourceName = "push") -> [Arrival] {
        arrivals(from: source, firstToken: UInt64(first), Array(repeating: message("work"), count: count))
    }

    private static func makeSupervisor(_ clock: ManualClock) throws -> Supervisor {
        let supervisor = Supervisor.make(clock: clock)
        try supervisor.register(
            Registration("work", as: Empty.self, from: .any([.source("push"), .source("chat")])) { _, _ in }
        )
        return supervisor
    }

    @Test func theExcessIsRejectedIfTheSourceDoesNotRedeliver() async throws {
        let clock = ManualClock()
        let supervisor = try Self.makeSupervisor(clock)
        let intake = try supervisor.intake(for: "push", rateLimit: RateLimit(perSecond: 10, burst: 5))
        try await supervisor.whileRunning {
            let first = await intake.deliver(Self.batch(0, 8))
            #expect(
                first.map(reason) == Array(repeating: "handled", count: 5) + Array(repeating: "overloaded", count: 3)
            )
            await clock.tick(2)
            let second = await intake.deliver(Self.batch(8, 3))
            #expect(second.map(reason) == ["handled", "handled", "overloaded"])
            await clock.tick(1_000)
            let third = await intake.deliver(Self.batch(11, 6))
            #expect(third.map(reason) == Array(repeating: "handled", count: 5) + ["overloaded"])
        }
        #expect(supervisor.deadLetters.total == 5)
    }

    @Test func aRedeliveringSourceIsThrottled() async throws {
        let clock = ManualClock()
        let supervisor = try Self.makeSupervisor(clock)
        let limit = RateLimit(perSecond: 10, burst: 20)
        let intake = try supervisor.intake(for: "push", features: .redelivers, rateLimit: limit)
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch(0, 30), to: sink) == 20)
            #expect(intake.submit(Self.batch(20, 10), to: sink) == 0)
            try await clock.tick { try await intake.room() }
            // By then a quarter of the burst is available again.
            #expect(clock.now.offset >= .milliseconds(500))
            #expect(intake.submit(Self.batch(20, 5), to: sink) == 5)
            await sink.untilSettled(25)
        }
        #expect(supervisor.report.total == OutcomeCounts(handled: 25))
    }

    @Test func theLongRunAverageEqualsTheRate() async throws {
        let clock = ManualClock()
        let supervisor = try Self.makeSupervisor(clock)
        let limit = RateLimit(perSecond: 7, burst: 3)
        let intake = try supervisor.intake(for: "push", features: .redelivers, rateLimit: limit)
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            var taken = intake.submit(Self.batch(0, 10), to: sink)
            #expect(taken == 3)
            for _ in 0..<100 {
                await clock.tick()
                taken += intake.submit(Self.batch(taken, 10), to: sink)
            }
            #expect(taken == 3 + 70)
            await sink.untilSettled(taken)
        }
    }

    @Test func roomAlsoWaitsForTheWindow() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(3_600) }
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let limit = RateLimit(perSecond: 1_000)
        let intake = try supervisor.intake(
            for: "push",
            features: .redelivers,
            window: WindowLimits(arrivals: 4),
            rateLimit: limit
        )
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch(0, 5), to: sink) == 4)
            await gate.untilArrived(1)
            let room = Task {
                try await intake.room()
                return sink.outcomes.count
            }
            await clock.tick(5)
            gate.open()
            let settled = try await room.value
            #expect(settled > 0)
            #expect(intake.submit(Self.batch(4, 1), to: sink) == 1)
        }
    }

    @Test func closingTheIntakeEndsTheWaitForTokens() async throws {
        let clock = ManualClock()
        let supervisor = try Self.makeSupervisor(clock)
        let limit = RateLimit(perSecond: 1, burst: 1)
        let intake = try supervisor.intake(for: "push", features: .redelivers, rateLimit: limit)
        let sink = RecordingSink()
        let begun = Gate()
        let room = Task {
            await begun.pass()
            await #expect(throws: SourceClosed.self) { try await intake.room() }
        }
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch(0, 1), to: sink) == 1)
            await sink.untilSettled(1)
            await begun.untilArrived(1)
            begun.open()
        }
        await room.value
    }

    @Test func floodingOneSourceDoesNotAffectOthers() async throws {
        let clock = ManualClock()
        let supervisor = try Self.makeSupervisor(clock)
        let flooding = try supervisor.intake(for: "push", rateLimit: RateLimit(perSecond: 1))
        let quiet = try supervisor.intake(for: "chat", rateLimit: RateLimit(perSecond: 1, burst: 10))
        try await supervisor.whileRunning {
            for start in stride(from: 0, to: 2_000, by: 200) {
                async let flood = flooding.deliver(Self.batch(start, 200))
                let outcomes = await quiet.deliver(Self.batch(0, 1, from: "chat"))
                #expect(outcomes.map(reason) == ["handled"])
                _ = await flood
            }
        }
        #expect(supervisor.report.sources["chat"] == OutcomeCounts(handled: 10))
        #expect(supervisor.report.sources["push"] == OutcomeCounts(handled: 1, rejected: 1_999))
    }

    @Test func duplicatesUseNoTokensAndTheExcessMayBeRedelivered() async throws {
        let clock = ManualClock()
        let supervisor = try Self.makeSupervisor(clock)
        let limit = RateLimit(perSecond: 10, burst: 1)
        let intake = try supervisor.intake(for: "push", features: .stableIDs, rateLimit: limit)
        try await supervisor.whileRunning {
            let texts = ["a", "b", "a", "b"].map { message("work", id: $0) }
            // The second `b` duplicates an arrival that is being rejected and shares its outcome.
            let first = await intake.deliver(arrivals(texts))
            #expect(first.map(reason) == ["handled", "overloaded", "handled", "overloaded"])
            #expect(supervisor.deadLetters.total == 1)
            await clock.tick(1)
            let second = await intake.deliver(arrivals(texts))
            #expect(second.map(reason) == ["handled", "handled", "handled", "handled"])
        }
    }

    @Test func arrivalsSubmittedBeforeTheRunAlsoUseTokens() async throws {
        let clock = ManualClock()
        let supervisor = try Self.makeSupervisor(clock)
        let intake = try supervisor.intake(for: "push", rateLimit: RateLimit(perSecond: 10, burst: 2))
        let sink = RecordingSink()
        #expect(intake.submit(Self.batch(0, 3), to: sink) == 3)
        try await supervisor.whileRunning { await sink.untilSettled(3) }
        #expect((0..<3).map { sink.outcomes[$0]?.map(reason) } == [["handled"], ["handled"], ["overloaded"]])
    }
}

@Suite struct TokenBucketTests {
    private static func bucket(_ perSecond: Int, burst: Int, tick: Duration = .milliseconds(100)) -> TokenBucket {
        TokenBucket(RateLimit(perSecond: perSecond, burst: burst), tick: tick, at: 0)
    }

    /// Takes all available tokens at each tick.
    private static func drained(_ bucket: inout TokenBucket, _ ticks: ClosedRange<UInt64>) -> [Int] {
        ticks.map { bucket.take(.max, at: $0) }
    }

    @Test func theBucketStartsFullAndRefillsPerTick() {
        var bucket = Self.bucket(10, burst: 5)
        #expect(Self.drained(&bucket, 0...3) == [5, 1, 1, 1])
        #expect(bucket.take(3, at: 3) == 0)
        #expect(bucket.take(3, at: 5) == 2)
    }

    @Test func fractionalTokensAccumulate() {
        var bucket = Self.bucket(3, burst: 1)
        #expect(Self.drained(&bucket, 0...10) == [1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1])
        var odd = Self.bucket(7, burst: 7, tick: .milliseconds(33))
        _ = odd.take(7, at: 0)
        // 7 tokens per second for 33 s make exactly 231.
        #expect(Self.drained(&odd, 1...1_000).reduce(0, +) == 231)
    }

    @Test func aPauseRefillsNoMoreThanTheBurst() {
        var bucket = Self.bucket(1_000, burst: 20)
        #expect(bucket.take(20, at: 0) == 20)
        #expect(bucket.available(at: 1_000_000) == 20)
        #expect(bucket.take(15, at: 1_000_000) == 15)
        #expect(bucket.available(at: 1_000_000) == 5)
    }

    @Test func aStaleTickChangesNothing() {
        var bucket = Self.bucket(10, burst: 5)
        #expect(bucket.take(5, at: 9) == 5)
        #expect(bucket.available(at: 3) == 0)
        #expect(bucket.available(at: 10) == 1)
    }

    @Test func roomReturnsWhenAQuarterOfTheBurstIsFree() {
        var bucket = Self.bucket(10, burst: 20)
        _ = bucket.take(20, at: 0)
        #expect((1...6).map { bucket.hasQuarter(at: $0) } == [false, false, false, false, true, true])
        var large = Self.bucket(1, burst: 3_600)
        _ = large.take(3_600, at: 0)
        #expect((9...10).map { large.hasQuarter(at: $0) } == [false, true])
        var small = Self.bucket(10, burst: 1)
        _ = small.take(1, at: 0)
        #expect(small.hasQuarter(at: 0) == false)
        #expect(small.hasQuarter(at: 1) == true)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(1_000_000_000), .nanoseconds(1), .zero])
    func extremeValuesDoNotOverflow(_ tick: Duration) {
        var bucket = Self.bucket(10_000_000, burst: 10_000_000, tick: tick)
        #expect(bucket.take(.max, at: 0) == 10_000_000)
        #expect(bucket.available(at: 1) <= 10_000_000)
        #expect(bucket.available(at: .max) == 10_000_000)
    }
}
