import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct RepeatTests {
    /// How often a plugin was called, by the id.
    private final class Calls: Sendable {
        private let counts = Mutex<[String: Int]>([:])

        /// - Returns: which call for this id it is.
        @discardableResult
        func note(_ context: ActionContext) -> Int {
            counts.withLock { counts in
                counts[context.id.text, default: 0] += 1
                return counts[context.id.text, default: 0]
            }
        }

        subscript(_ id: String) -> Int { counts.withLock { $0[id, default: 0] } }
    }

    private static func one(_ token: UInt64, _ text: String = message("work", id: "a")) -> [Arrival] {
        arrivals(firstToken: token, [text])
    }

    @Test func aRepeatOfWhatRunsIsSettledWithItByOneCall() async throws {
        let supervisor = Supervisor.make()
        let (gate, calls, sink) = (Gate(), Calls(), RecordingSink())
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, context in
            calls.note(context)
            await gate.pass()
            return 7
        }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.one(0), to: sink) == 1)
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
        #expect(supervisor.report.total == OutcomeCounts(handled: 3, repeats: 2))
    }

    @Test func aRepeatOfWhatWasHandledHasItsReplyWithoutACall() async throws {
        let supervisor = Supervisor.make()
        let (calls, sink) = (Calls(), RecordingSink())
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, context in calls.note(context) }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.one(0), to: sink) == 1)
            await sink.untilSettled(1)
            #expect(intake.submit(Self.one(1), to: sink) == 1)
            // No lane is involved.
            #expect(sink.outcomes[1] == [.handled(reply: Bytes("1"))])
        }
        #expect(calls["a"] == 1)
        #expect(sink.acknowledged == [0, 1])
    }

    @Test func whatFailedRunsAgainAndItsRepeatsAreNoDeadLetters() async throws {
        let supervisor = Supervisor.make()
        let (gate, calls, sink) = (Gate(), Calls(), RecordingSink())
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, context in
            let call = calls.note(context)
            await gate.pass()
            if call == 1 { throw Broken() }
        }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.one(0), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(Self.one(1), to: sink) == 1)
            gate.open()
            await sink.untilSettled(2)
            #expect(intake.submit(Self.one(2), to: sink) == 1)
            await sink.untilSettled(3)
        }
        #expect(calls["a"] == 2)
        #expect((0..<3).map { sink.outcomes[$0]?.map(reason) } == [["threw"], ["threw"], ["handled"]])
        #expect(sink.acknowledged == [0, 1, 2])
        #expect(supervisor.deadLetters.total == 1)
        #expect(supervisor.report.total == OutcomeCounts(handled: 1, failed: 2, repeats: 1))
    }

    @Test func aTimeoutSettlesRepeatsToo() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(1) }
        let (gate, sink) = (Gate(), RecordingSink())
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.one(0), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(Self.one(1), to: sink) == 1)
            await clock.tick(12)
            #expect(sink.outcomes.mapValues { $0.map(reason) } == [0: ["timeout"], 1: ["timeout"]])
            gate.open()
        }
        #expect(supervisor.deadLetters.total == 1)
    }

    @Test func whatWasRejectedRunsAgain() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register("work", as: Int.self, from: .source("push")) { _, _ in }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(await intake.deliver(Self.one(0)).map(reason) == ["invalidBody"])
            // Its id is free for a body that fits.
            let next = Self.one(1, message("work", id: "a", body: "1"))
            #expect(await intake.deliver(next).map(reason) == ["handled"])
        }
        #expect(supervisor.deadLetters.total == 1)
    }

    @Test func whatWasAbandonedRunsAgain() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(60)
            configuration.holdLimit = .seconds(1)
        }
        let (gate, calls, sink) = (Gate(), Calls(), RecordingSink())
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, context in
            calls.note(context)
            await gate.pass()
        }
        let intake = try supervisor.intake(for: "push", features: [.stableIDs, .redelivers])
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.one(0, message("work", id: "first")), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(Self.one(1), to: sink) == 1)
            #expect(intake.submit(Self.one(2), to: sink) == 1)
            await clock.tick(11)
            #expect(sink.outcomes.mapValues { $0.map(reason) } == [1: ["holdLimit"], 2: ["holdLimit"]])
            #expect(sink.acknowledged.isEmpty)
            #expect(intake.submit(Self.one(3), to: sink) == 1)
            gate.open()
            await sink.untilSettled(4)
        }
        #expect(calls["a"] == 1)
        #expect(sink.outcomes[3]?.map(reason) == ["handled"])
        #expect(sink.acknowledged == [0, 3])
    }

    /// With another body, and with another action.
    @Test(arguments: [message("work", id: "a", body: "[]"), message("play", id: "a")])
    func theSameIDForAnotherMessageIsAConflict(_ other: String) async throws {
        let supervisor = Supervisor.make()
        let (gate, calls, sink) = (Gate(), Calls(), RecordingSink())
        for action: ActionName in ["work", "play"] {
            try supervisor.register(action, as: RawBody.self, from: .source("push")) { _, context in
                calls.note(context)
                await gate.pass()
            }
        }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.one(0), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(Self.one(1, other), to: sink) == 1)
            #expect(sink.outcomes.mapValues { $0.map(reason) } == [1: ["idConflict"]])
            #expect(intake.submit(Self.one(2), to: sink) == 1)
            gate.open()
            await sink.untilSettled(3)
            #expect(intake.submit(Self.one(3, other), to: sink) == 1)
        }
        let words = (0..<4).map { sink.outcomes[$0]?.map(reason) }
        #expect(words == [["handled"], ["idConflict"], ["handled"], ["idConflict"]])
        #expect(calls["a"] == 1)
        #expect(supervisor.deadLetters.letters.map { $0.original.text } == [other, other])
    }

    @Test func aRepeatOfARefusedOriginIsRefusedAgain() async throws {
        let supervisor = Supervisor.make()
        let calls = Calls()
        let trusted = AccessRule("label trusted") { ($0.facts as? TestFacts)?.label == "trusted" }
        try supervisor.register("work", as: Empty.self, from: trusted) { _, context in
            calls.note(context)
            return "secret"
        }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        let text = [message("work", id: "a")]
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals(label: "stranger", text)).map(reason) == ["sourceNotAllowed"])
            #expect(await intake.deliver(arrivals(label: "trusted", text)) == [.handled(reply: Bytes(#""secret""#))])
            #expect(await intake.deliver(arrivals(label: "stranger", text)).map(reason) == ["sourceNotAllowed"])
            #expect(await intake.deliver(arrivals(label: "trusted", text)) == [.handled(reply: Bytes(#""secret""#))])
        }
        #expect(calls["a"] == 1)
        #expect(supervisor.deadLetters.total == 2)
    }

    @Test func aRefusedArrivalDoesNotFreeTheIDOfOneThatRuns() async throws {
        let supervisor = Supervisor.make()
        let (gate, calls, sink) = (Gate(), Calls(), RecordingSink())
        let trusted = AccessRule("label trusted") { ($0.facts as? TestFacts)?.label == "trusted" }
        try supervisor.register("work", as: Empty.self, from: trusted) { _, context in
            calls.note(context)
            await gate.pass()
        }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        let text = [message("work", id: "a")]
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals(label: "trusted", text), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(arrivals(label: "stranger", firstToken: 1, text), to: sink) == 1)
            #expect(intake.submit(arrivals(label: "trusted", firstToken: 2, text), to: sink) == 1)
            gate.open()
            await sink.untilSettled(3)
        }
        #expect(calls["a"] == 1)
    }

    @Test func aDrainAbandonsRepeatsTogetherWithWhatTheyRepeat() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(60)
            configuration.drainLimit = .seconds(1)
        }
        let (gate, sink) = (Gate(), RecordingSink())
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await clock.tick {
            try await supervisor.whileRunning {
                #expect(intake.submit(Self.one(0), to: sink) == 1)
                await gate.untilArrived(1)
                #expect(intake.submit(Self.one(1), to: sink) == 1)
            }
        }
        #expect(sink.outcomes.mapValues { $0.map(reason) } == [0: ["drain"], 1: ["drain"]])
        #expect(sink.acknowledged.isEmpty)
        #expect(supervisor.report.total == OutcomeCounts(abandoned: 2, repeats: 1))
        #expect(supervisor.report.unsettled == 0)
        #expect(supervisor.deadLetters.total == 0)
        gate.open()
    }

    @Test func repeatsCountInTheWindow() async throws {
        let supervisor = Supervisor.make()
        let (gate, sink) = (Gate(), RecordingSink())
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        let intake = try supervisor.intake(for: "push", features: .stableIDs, window: WindowLimits(arrivals: 2))
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.one(0), to: sink) == 1)
            #expect(intake.submit(Self.one(1), to: sink) == 1)
            #expect(intake.submit(Self.one(2), to: sink) == 0)
            gate.open()
            await sink.untilSettled(2)
            try await intake.room()
            #expect(intake.submit(Self.one(2), to: sink) == 1)
        }
    }

    @Test(arguments: [
        (AdapterFeatures.stableIDs, RepeatPolicy.automatic, 1), (.replies, .automatic, 2), (.stableIDs, .never, 2),
        (.replies, .within(RepeatLimits()), 1),
    ])
    func thePolicySaysWhetherRepeatsAreRecognised(
        _ features: AdapterFeatures,
        _ policy: RepeatPolicy,
        _ expected: Int
    ) async throws {
        let supervisor = Supervisor.make()
        let calls = Calls()
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, context in _ = calls.note(context) }
        let intake = try supervisor.intake(for: "push", features: features, repeats: policy)
        try await supervisor.whileRunning {
            for token in 0..<2 { #expect(await intake.deliver(Self.one(UInt64(token))).map(reason) == ["handled"]) }
        }
        #expect(calls["a"] == expected)
    }

    @Test func idsThatSignalboxAssignedAreNeverRepeats() async throws {
        let supervisor = Supervisor.make()
        let count = Atomic(0)
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in
            count.wrappingAdd(1, ordering: .relaxed)
        }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work"), message("work")])) }
        let calls = count.load(ordering: .relaxed)
        #expect(calls == 2)
    }

    @Test func sourcesHaveIDsOfTheirOwn() async throws {
        let supervisor = Supervisor.make()
        let calls = Calls()
        try supervisor.register("work", as: Empty.self, from: .any([.source("push"), .source("chat")])) { _, context in
            _ = calls.note(context)
        }
        let push = try supervisor.intake(for: "push", features: .stableIDs)
        let chat = try supervisor.intake(for: "chat", features: .stableIDs)
        try await supervisor.whileRunning {
            _ = await push.deliver(Self.one(0))
            _ = await chat.deliver(arrivals(from: "chat", [message("work", id: "a")]))
        }
        #expect(calls["a"] == 2)
    }

    @Test func anIDIsForgottenAfterItsTime() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let calls = Calls()
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, context in _ = calls.note(context) }
        let limits = RepeatLimits(time: .seconds(1))
        let intake = try supervisor.intake(for: "push", repeats: .within(limits))
        try await supervisor.whileRunning {
            _ = await intake.deliver(Self.one(0))
            await clock.tick(9)
            _ = await intake.deliver(Self.one(1))
            #expect(calls["a"] == 1)
            await clock.tick(1)
            _ = await intake.deliver(Self.one(2))
            #expect(calls["a"] == 2)
        }
    }

    @Test func observersAreToldWhatIsARepeat() async throws {
        let told = Mutex<[String]>([])
        let supervisor = Supervisor.make { configuration in
            configuration.onOutcome = { settled in
                told.withLock {
                    $0.append("\(settled.arrival.token) \(settled.isRepeat) \(settled.plugin?.text ?? "")")
                }
            }
        }
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            for token in 0..<2 { _ = await intake.deliver(Self.one(UInt64(token))) }
        }
        #expect(told.withLock { $0 } == ["0 false work", "1 true work"])
    }

    /// Many threads send the same ids to a plugin that fails at times: no id is in two calls at once, none is called after
    /// it was handled, and every arrival is settled once.
    @Test func whoeverSendsAtTheSameTimeIsSettledOnce() async throws {
        let supervisor = Supervisor.make()
        let (ids, senders, rounds) = (20, 8, 100)
        let handled = Mutex<Set<String>>([])
        for action in ["one", "two"] {
            try supervisor.register(try ActionName(action), as: Empty.self, from: .source("push")) { _, context in
                let wasHandled = handled.withLock { $0.contains(context.id.text) }
                #expect(!wasHandled)
                await Task.yield()
                if context.id.text.utf8.reduce(0, { $0 &+ Int($1) }) & 1 == 0, Bool.random() { throw Broken() }
                let isFirst = handled.withLock { $0.insert(context.id.text).inserted }
                #expect(isFirst)
            }
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
