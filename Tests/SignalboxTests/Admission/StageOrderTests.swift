import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

/// An arrival that two adjacent stages would stop is stopped by the earlier one.
@Suite(.timeLimit(.minutes(10))) struct StageOrderTests {
    private struct Row {
        let name: String
        let text: String
        var label = "trusted"
        var isLate = false
        let code: String
        var detail = ""
    }

    /// No row undoes a state that a later row requires. The first row takes the rate limit's last token.
    private static let rows = [
        Row(
            name: "circuit breaker before lane",
            text: message("work", id: "c", body: "1"),
            code: "unavailable",
            detail: "the circuit breaker of plugin work is open"
        ),
        Row(name: "rate limit before circuit breaker", text: message("work", id: "d"), code: "overloaded"),
        Row(name: "deadline before rate limit", text: message("work", id: "e"), isLate: true, code: "expired"),
        Row(
            name: "deduplication before deadline",
            text: message("work", id: "a", body: "[]"),
            isLate: true,
            code: "idConflict"
        ),
        Row(
            name: "a duplicate is settled despite its deadline",
            text: message("work", id: "a"),
            isLate: true,
            code: "handled"
        ),
        Row(
            name: "access before deduplication",
            text: message("work", id: "a", body: "[]"),
            label: "stranger",
            code: "sourceNotAllowed"
        ),
        Row(name: "plugin before access", text: message("nobody", id: "a"), label: "stranger", code: "unknownAction"),
        Row(name: "envelope before plugin", text: "{", label: "stranger", code: "malformed"),
    ]

    @Test func theEarlierOfTwoStagesDecides() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(1) }
        let trusted = AccessRule("label trusted") { ($0.facts as? TestFacts)?.label == "trusted" }
        let breaker = CircuitBreakerPolicy(failures: 1, openFor: .seconds(3_600))
        let options = PluginOptions<RawBody>(circuitBreaker: breaker)
        try supervisor.register(
            Registration("work", as: RawBody.self, from: trusted, options: options) { body, _ in
                if body.bytes.elementsEqual("0".utf8) { await gate.pass() }
            }
        )
        let rate = RateLimit(perSecond: 1, burst: 2)
        let intake = try supervisor.intake(for: "push", rateLimit: rate, deduplication: .within(DeduplicationLimits()))
        try await supervisor.whileRunning {
            let first = await intake.deliver(arrivals(label: "trusted", [message("work", id: "a")]))
            #expect(first.map(reason) == ["handled"])
            async let hung = intake.deliver(arrivals(label: "trusted", [message("work", id: "b", body: "0")]))
            await gate.untilArrived(1)
            // The call is overdue: the lane stalls, the breaker opens, and the rate limit has one token again.
            await clock.tick(14)
            #expect(await hung.map(reason) == ["timeout"])
            for row in Self.rows {
                let deadline = row.isLate ? ContinuousClock.now : nil
                let outcome = await intake.deliver(arrivals(label: row.label, deadline: deadline, [row.text]))[0]
                #expect(reason(outcome) == row.code, "\(row.name)")
                guard case .rejected(let rejection) = outcome else { continue }
                #expect(rejection.detail.hasPrefix(row.detail), "\(row.name)")
            }
            gate.open()
        }
    }

    @Test func aStalledLaneRejectsBeforeTheBodyIsDecoded() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(1) }
        try supervisor.register(Registration("work", as: Int.self, from: .source("push")) { _, _ in await gate.pass() })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            async let hung = intake.deliver(arrivals([message("work", body: "1")]))
            await gate.untilArrived(1)
            await clock.tick(14)
            #expect(await hung.map(reason) == ["timeout"])
            #expect(await intake.deliver(arrivals([message("work", body: "[]")])).map(reason) == ["unavailable"])
            gate.open()
        }
    }
}

@Suite struct DeadlineTests {
    private static func batch(_ deadlines: [ContinuousClock.Instant?]) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "push", facts: TestFacts())
        for (position, deadline) in deadlines.enumerated() {
            Array(message("work", body: "\(position)").utf8).withUnsafeBytes { bytes in
                batch.append(
                    bytes,
                    token: UInt64(position),
                    origin: origin,
                    receivedAt: WallTime(seconds: 0),
                    deadline: deadline
                )
            }
        }
        return batch.take()
    }

    @Test func expiredArrivalsAreRejectedAtAdmission() async throws {
        let supervisor = Supervisor.make()
        let (gate, sink) = (Gate(), RecordingSink())
        let seen = Mutex<[Int]>([])
        try supervisor.register(
            Registration("work", as: Int.self, from: .source("push")) { number, _ in
                seen.withLock { $0.append(number) }
                await gate.pass()
            }
        )
        let intake = try supervisor.intake(for: "push")
        let (late, early) = (ContinuousClock.now - .seconds(1), ContinuousClock.now + .seconds(3_600))
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch([nil, late, early, late, nil]), to: sink) == 5)
            // The lane has not reached these arrivals: admission rejected them.
            #expect(sink.outcomes.mapValues { $0.map(reason) } == [1: ["expired"], 3: ["expired"]])
            gate.open()
            await sink.untilSettled(5)
        }
        #expect(seen.withLock { $0 } == [0, 2, 4])
        #expect(supervisor.deadLetters.total == 2)
    }
}
