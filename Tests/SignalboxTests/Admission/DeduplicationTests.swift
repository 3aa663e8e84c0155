import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@testable import Signalbox

/// The outcome of a redelivered message, by the outcome of its first delivery.
@Suite(.timeLimit(.minutes(10))) struct DeduplicationTests {
    @Test func aDuplicateOfARunningMessageSharesItsOutcome() async throws {
        let supervisor = Supervisor.make()
        let (gate, calls, sink) = (Gate(), CallCounter(), RecordingSink())
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, context in
                calls.note(context)
                await gate.pass()
                return 7
            }
        )
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(CallCounter.one(0), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(
                intake.submit(arrivals(firstToken: 1, [message("work", id: "a"), message("work", id: "a")]), to: sink)
                    == 2
            )
            #expect(sink.events.isEmpty)
            #expect(supervisor.report.unsettled == 3)
            gate.open()
            await sink.untilSettled(3)
        }
        #expect(calls["a"] == 1)
        #expect(sink.outcomes == [0, 1, 2].reduce(into: [:]) { $0[$1] = [.handled(reply: Bytes("7"))] })
        #expect(sink.acknowledged == [0, 1, 2])
        #expect(supervisor.report.total == OutcomeCounts(handled: 3, duplicates: 2))
    }

    @Test func aDuplicateOfAHandledMessageGetsItsReplyWithoutACall() async throws {
        let supervisor = Supervisor.make()
        let (calls, sink) = (CallCounter(), RecordingSink())
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, context in calls.note(context) }
        )
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(CallCounter.one(0), to: sink) == 1)
            await sink.untilSettled(1)
            #expect(intake.submit(CallCounter.one(1), to: sink) == 1)
            // No lane is involved.
            #expect(sink.outcomes[1] == [.handled(reply: Bytes("1"))])
        }
        #expect(calls["a"] == 1)
        #expect(sink.acknowledged == [0, 1])
    }

    @Test func failedMessagesRunAgainAndDuplicatesAreNotDeadLetters() async throws {
        let supervisor = Supervisor.make()
        let (gate, calls, sink) = (Gate(), CallCounter(), RecordingSink())
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, context in
                let call = calls.note(context)
                await gate.pass()
                if call == 1 { throw Broken() }
            }
        )
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(CallCounter.one(0), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(CallCounter.one(1), to: sink) == 1)
            gate.open()
            await sink.untilSettled(2)
            #expect(intake.submit(CallCounter.one(2), to: sink) == 1)
            await sink.untilSettled(3)
        }
        #expect(calls["a"] == 2)
        #expect((0..<3).map { sink.outcomes[$0]?.map(reason) } == [["threw"], ["threw"], ["handled"]])
        #expect(sink.acknowledged == [0, 1, 2])
        #expect(supervisor.deadLetters.total == 1)
        #expect(supervisor.report.total == OutcomeCounts(handled: 1, failed: 2, duplicates: 1))
    }

    @Test func aTimeoutAlsoSettlesDuplicates() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(1) }
        let (gate, sink) = (Gate(), RecordingSink())
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(CallCounter.one(0), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(CallCounter.one(1), to: sink) == 1)
            await clock.tick(12)
            #expect(sink.outcomes.mapValues { $0.map(reason) } == [0: ["timeout"], 1: ["timeout"]])
            gate.open()
        }
        #expect(supervisor.deadLetters.total == 1)
    }

    @Test func rejectedMessagesRunAgain() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("work", as: Int.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(await intake.deliver(CallCounter.one(0)).map(reason) == ["invalidBody"])
            // The id is free for a message with a valid body.
            let next = CallCounter.one(1, message("work", id: "a", body: "1"))
            #expect(await intake.deliver(next).map(reason) == ["handled"])
        }
        #expect(supervisor.deadLetters.total == 1)
    }

    @Test func abandonedMessagesRunAgain() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(60)
            configuration.ackDeadline = .seconds(1)
        }
        let (gate, calls, sink) = (Gate(), CallCounter(), RecordingSink())
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, context in
                calls.note(context)
                await gate.pass()
            }
        )
        let intake = try supervisor.intake(for: "push", features: [.stableIDs, .redelivers])
        try await supervisor.whileRunning {
            #expect(intake.submit(CallCounter.one(0, message("work", id: "first")), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(CallCounter.one(1), to: sink) == 1)
            #expect(intake.submit(CallCounter.one(2), to: sink) == 1)
            await clock.tick(11)
            #expect(sink.outcomes.mapValues { $0.map(reason) } == [1: ["ackDeadline"], 2: ["ackDeadline"]])
            #expect(sink.acknowledged.isEmpty)
            #expect(intake.submit(CallCounter.one(3), to: sink) == 1)
            gate.open()
            await sink.untilSettled(4)
        }
        #expect(calls["a"] == 1)
        #expect(sink.outcomes[3]?.map(reason) == ["handled"])
        #expect(sink.acknowledged == [0, 3])
    }

    @Test func aDrainAbandonsDuplicatesWithTheirOriginal() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(60)
            configuration.drainLimit = .seconds(1)
        }
        let (gate, sink) = (Gate(), RecordingSink())
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await clock.tick {
            try await supervisor.whileRunning {
                #expect(intake.submit(CallCounter.one(0), to: sink) == 1)
                await gate.untilArrived(1)
                #expect(intake.submit(CallCounter.one(1), to: sink) == 1)
            }
        }
        #expect(sink.outcomes.mapValues { $0.map(reason) } == [0: ["drain"], 1: ["drain"]])
        #expect(sink.acknowledged.isEmpty)
        #expect(supervisor.report.total == OutcomeCounts(abandoned: 2, duplicates: 1))
        #expect(supervisor.report.unsettled == 0)
        #expect(supervisor.deadLetters.total == 0)
        gate.open()
    }
}

@Suite(.timeLimit(.minutes(10))) struct DeduplicationStressTests {
    /// Eight tasks submit the same ids to plugins that sometimes fail. No id is in two calls at once, none is called
    /// after it was handled, and every arrival is settled once.
    @Test func concurrentDuplicatesAreSettledOnce() async throws {
        let supervisor = Supervisor.make()
        let (ids, senders, rounds) = (20, 8, 100)
        let handled = Mutex<Set<String>>([])
        for action in ["one", "two"] {
            try supervisor.register(
                Registration(try ActionName(action), as: Empty.self, from: .source("push")) { _, context in
                    let wasHandled = handled.withLock { $0.contains(context.id.text) }
                    #expect(!wasHandled)
                    await Task.yield()
                    if context.id.text.utf8.reduce(0, { $0 &+ Int($1) }) & 1 == 0, Bool.random() { throw Broken() }
                    let isFirst = handled.withLock { $0.insert(context.id.text).inserted }
                    #expect(isFirst)
                }
            )
        }
        let intake = try supervisor.intake(
            for: "push",
            features: .stableIDs,
            window: WindowLimits(arrivals: 1_000_000)
        )
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            await withTaskGroup { group in
                for sender in 0..<senders {
                    group.addTask {
                        for round in 0..<rounds {
                            let first = UInt64((sender * rounds + round) * ids)
                            let texts = (0..<ids).map {
                                message($0 % 2 == 0 ? "one" : "two", id: "\($0)-\(round / 10)")
                            }
                            #expect(intake.submit(arrivals(firstToken: first, texts), to: sink) == ids)
                            await Task.yield()
                        }
                    }
                }
            }
            await sink.untilSettled(ids * senders * rounds)
        }
        #expect(sink.outcomes.count == ids * senders * rounds)
        #expect(sink.outcomes.values.allSatisfy { $0.count == 1 })
        #expect(sink.acknowledged.count == ids * senders * rounds)
        #expect(supervisor.report.unsettled == 0)
    }
}

/// The number of a plugin's calls for each id.
final class CallCounter: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    /// - Returns: The number of this call among those for its id.
    @discardableResult
    func note(_ context: ActionContext) -> Int {
        counts.withLock { counts in
            counts[context.id.text, default: 0] += 1
            return counts[context.id.text, default: 0]
        }
    }

    subscript(_ id: String) -> Int { counts.withLock { $0[id, default: 0] } }

    /// Returns a batch of one message, by default for the action `work` with the id `a`.
    static func one(_ token: UInt64, _ text: String = message("work", id: "a")) -> [Arrival] {
        arrivals(firstToken: token, [text])
    }
}
