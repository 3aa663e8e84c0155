import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite struct LaneTests {
    @Test func arrivalsOfOneSourceAreHandledOneAtATimeInOrder() async throws {
        let supervisor = Supervisor.make()
        let seen = Mutex<[Int]>([])
        let inside = Atomic(0)
        try supervisor.register(
            Registration("count", as: Int.self, from: .source("push")) { number, _ in
                #expect(inside.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue == 1)
                await Task.yield()
                seen.withLock { $0.append(number) }
                inside.wrappingSubtract(1, ordering: .sequentiallyConsistent)
            }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            for start in stride(from: 0, to: 900, by: 9) {
                let batch = arrivals(
                    firstToken: UInt64(start),
                    (start..<start + 9).map { message("count", body: "\($0)") }
                )
                #expect(intake.submit(batch, to: sink) == 9)
            }
            await sink.untilSettled(900)
        }
        #expect(seen.withLock { $0 } == Array(0..<900))
        #expect(sink.acknowledged == (0..<900).map(UInt64.init))
    }

    @Test func alternatingActionsStayInOrderPerLane() async throws {
        let supervisor = Supervisor.make()
        let seen = Mutex<[String: [Int]]>([:])
        for action in ["one", "two"] {
            try supervisor.register(
                Registration(try ActionName(action), as: Int.self, from: .source("push")) { number, _ in
                    seen.withLock { $0[action, default: []].append(number) }
                }
            )
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let batch = arrivals((0..<200).map { message($0 % 2 == 0 ? "one" : "two", body: "\($0)") })
            let outcomes = await intake.deliver(batch)
            #expect(outcomes.allSatisfy { $0 == .handled(reply: nil) })
        }
        #expect(seen.withLock { $0["one"] } == Array(stride(from: 0, to: 200, by: 2)))
        #expect(seen.withLock { $0["two"] } == Array(stride(from: 1, to: 200, by: 2)))
    }

    @Test func aThrowingPluginStopsNoOther() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(
            Registration("breaks", as: Empty.self, from: .source("push")) { _, _ in throw Broken() }
        )
        try supervisor.register(Registration("works", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals([message("breaks"), message("breaks"), message("works")]))
            #expect(outcomes.map(reason) == ["threw", "threw", "handled"])
        }
    }

    @Test func aHungCallTimesOutWithoutBlockingOtherSources() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(1) }
        let gate = Gate()
        let both = AccessRule.any([.source("push"), .source("chat")])
        try supervisor.register(
            Registration("hangs", as: Empty.self, from: both, options: PluginOptions(maxConcurrent: 2)) { _, context in
                if context.origin.source == "push" { await gate.pass() }
            }
        )
        let push = try supervisor.intake(for: "push")
        let chat = try supervisor.intake(for: "chat")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals([message("hangs"), message("hangs")]), to: sink) == 2)
            await gate.untilArrived(1)
            await clock.tick(10)
            #expect(sink.events.isEmpty)
            await clock.tick(1)
            #expect(sink.outcomes[0]?.map(reason) == ["timeout"])
            #expect(sink.outcomes[1]?.map(reason) == ["unavailable"])
            #expect(push.submit(arrivals(firstToken: 2, [message("hangs")]), to: sink) == 1)
            #expect(sink.outcomes[2]?.map(reason) == ["unavailable"])
            let other = await chat.deliver(arrivals(from: "chat", [message("hangs")]))
            #expect(other == [.handled(reply: nil)])
        }
        #expect(sink.acknowledged.sorted() == [0, 1, 2])
        #expect(supervisor.report.callsStillRunning == ["push/hangs"])
        #expect(!supervisor.report.isClean)
        #expect(supervisor.deadLetters.total == 3)
        gate.open()
    }

    @Test func aLateResultIsCountedAndTheLaneResumes() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .milliseconds(100) }
        let gate = Gate()
        let calls = Atomic(0)
        try supervisor.register(
            Registration("slow", as: Empty.self, from: .source("push")) { _, _ in
                if calls.wrappingAdd(1, ordering: .relaxed).newValue == 1 { await gate.pass() }
            }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals([message("slow")]), to: sink) == 1)
            await gate.untilArrived(1)
            await clock.tick(2)
            #expect(sink.outcomes[0]?.map(reason) == ["timeout"])
            gate.open()
            var outcomes: [Outcome] = []
            repeat {
                await Task.yield()
                outcomes = await intake.deliver(arrivals(firstToken: 1, [message("slow")]))
            } while outcomes.map(reason) == ["unavailable"]
            #expect(outcomes == [.handled(reply: nil)])
        }
        #expect(sink.outcomes[0]?.count == 1)
        #expect(supervisor.report.total.lateReturns == 1)
        #expect(supervisor.report.callsStillRunning.isEmpty)
    }

    @Test func arrivalsWaitingPastTheAckDeadlineAreAbandoned() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(60)
            configuration.ackDeadline = .seconds(2)
        }
        let gate = Gate()
        try supervisor.register(
            Registration("slow", as: Empty.self, from: .any([.source("push"), .source("page")])) { _, _ in
                await gate.pass()
            }
        )
        let push = try supervisor.intake(for: "push", features: .redelivers)
        let page = try supervisor.intake(for: "page")
        let pushed = RecordingSink()
        let posted = RecordingSink()
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals([message("slow"), message("slow")]), to: pushed) == 2)
            #expect(push.submit(arrivals(firstToken: 2, [message("slow")]), to: pushed) == 1)
            #expect(page.submit(arrivals(from: "page", [message("slow"), message("slow")]), to: posted) == 2)
            await gate.untilArrived(1)
            await clock.tick(20)
            #expect(pushed.outcomes[1]?.map(reason) == ["ackDeadline"])
            #expect(pushed.outcomes[2]?.map(reason) == ["ackDeadline"])
            #expect(pushed.outcomes[0] == nil)
            #expect(posted.events.isEmpty)
            gate.open()
            await pushed.untilSettled(3)
            await posted.untilSettled(2)
        }
        #expect(pushed.acknowledged == [0])
        #expect(posted.acknowledged == [0, 1])
        #expect(supervisor.deadLetters.total == 0)
    }

    @Test func everyArrivalIsSettledOnceDespiteTheTimer() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .milliseconds(100)
            configuration.ackDeadline = .milliseconds(200)
        }
        try supervisor.register(
            Registration("work", as: Int.self, from: .source("push")) { number, _ in
                for _ in 0..<(number % 7) { await Task.yield() }
            }
        )
        let intake = try supervisor.intake(for: "push", features: .redelivers, window: WindowLimits(arrivals: 100_000))
        let sink = RecordingSink()
        let count = 20_000
        try await supervisor.whileRunning {
            async let ticking: Void = clock.tick(300)
            for start in stride(from: 0, to: count, by: 50) {
                let batch = arrivals(
                    firstToken: UInt64(start),
                    (start..<start + 50).map { message("work", body: "\($0)") }
                )
                #expect(intake.submit(batch, to: sink) == 50)
                if start % 1_000 == 0 { await Task.yield() }
            }
            await ticking
            await sink.untilSettled(count)
        }
        let outcomes = sink.outcomes
        #expect(outcomes.count == count)
        #expect(outcomes.values.allSatisfy { $0.count == 1 })
        let abandoned = outcomes.values.filter { reason($0[0]) == "ackDeadline" }.count
        #expect(sink.acknowledged.count == count - abandoned)
        #expect(supervisor.report.total.settled == count)
        #expect(supervisor.report.unsettled == 0)
    }
}

@Suite struct BatchPluginTests {
    @Test func aBatchIsHandledInOneCallInOrder() async throws {
        let supervisor = Supervisor.make()
        let plugin = CollectingPlugin()
        try supervisor.register(Registration(plugin, from: .source("push")))
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let messages = ["1", "2", "true", "3"].map { message("collect", body: $0) }
            let outcomes = await intake.deliver(arrivals(messages))
            #expect(outcomes.map(reason) == ["handled", "handled", "invalidBody", "handled"])
        }
        #expect(plugin.calls.withLock { $0 } == [[1, 2, 3]])
    }

    @Test func interleavedActionsOfAnotherPluginDoNotSplitTheCall() async throws {
        let supervisor = Supervisor.make()
        let plugin = CollectingPlugin()
        try supervisor.register(Registration(plugin, from: .source("push")))
        try supervisor.register(Registration("other", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let messages = (0..<20).map { number in
                number % 2 == 0 ? message("collect", body: "\(number)") : message("other")
            }
            let outcomes = await intake.deliver(arrivals(messages))
            #expect(outcomes.allSatisfy { $0 == .handled(reply: nil) })
        }
        #expect(plugin.calls.withLock { $0 } == [Array(stride(from: 0, to: 20, by: 2))])
    }

    /// A source may submit few messages at a time, but those that wait during a call share the next one.
    @Test func waitingBatchesOfOneSinkShareACall() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        let plugin = CollectingPlugin(gate: gate)
        try supervisor.register(Registration(plugin, from: .source("push")))
        let intake = try supervisor.intake(for: "push")
        let (sink, other) = (RecordingSink(), RecordingSink())
        try await supervisor.whileRunning {
            func submit(_ token: Int, to sink: RecordingSink) {
                let message = message("collect", body: token == 4 ? "true" : "\(token)")
                #expect(intake.submit(arrivals(firstToken: UInt64(token), [message]), to: sink) == 1)
            }
            submit(0, to: sink)
            await gate.untilArrived(1)
            for token in 1...9 { submit(token, to: sink) }
            submit(10, to: other)
            gate.open()
            await sink.untilSettled(10)
            await other.untilSettled(1)
            #expect(sink.outcomes[4]?.map(reason) == ["invalidBody"])
        }
        #expect(plugin.calls.withLock { $0 } == [[0], [1, 2, 3, 5, 6, 7, 8, 9], [10]])
    }

    @Test func aThrownErrorFailsAllButRejectedActions() async throws {
        let supervisor = Supervisor.make()
        let plugin = CollectingPlugin(failure: Broken())
        try supervisor.register(Registration(plugin, from: .source("push")))
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals(["1", "{}"].map { message("collect", body: $0) }))
            #expect(outcomes.map(reason) == ["threw", "invalidBody"])
        }
    }

    @Test func anOverdueCallFailsTheWholeBatch() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .milliseconds(200) }
        let gate = Gate()
        try supervisor.register(Registration(CollectingPlugin(gate: gate), from: .source("push")))
        let intake = try supervisor.intake(for: "push", features: .redelivers)
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals(["1", "2"].map { message("collect", body: $0) }), to: sink) == 2)
            await gate.untilArrived(1)
            #expect(intake.submit(arrivals(firstToken: 2, [message("collect", body: "3")]), to: sink) == 1)
            await clock.tick(3)
            let reasons = (0..<3).map { sink.outcomes[$0]?.map(reason) }
            #expect(reasons == [["timeout"], ["timeout"], ["unavailable"]])
        }
        gate.open()
    }
}

/// A batch plugin that records its calls, behind an optional gate.
final class CollectingPlugin: BatchPlugin {
    let action: ActionName = "collect"
    let calls = Mutex<[[Int]]>([])
    private let gate: Gate?
    private let failure: (any Error)?

    init(gate: Gate? = nil, failure: (any Error)? = nil) {
        self.gate = gate
        self.failure = failure
    }

    func callAsActions(_ batch: [(info: Int, context: ActionContext)]) async throws {
        await gate?.pass()
        if let failure { throw failure }
        calls.withLock { $0.append(batch.map(\.info)) }
    }
}
