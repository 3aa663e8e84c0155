import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import Signalbox

/// Inline calls that take long, and the end of lanes that make them.
@Suite(.timeLimit(.minutes(10))) struct SlowInlineCallsTests {
    private let clock = ManualClock()
    private let gate = BlockingGate()
    private let sink = RecordingSink()
    private let calls = CallPlaces()

    /// Registers a plugin that blocks in its first call.
    private func blockingPlugin(_ supervisor: Supervisor) throws {
        let options = PluginOptions<Int>(runsInline: true)
        try supervisor.register(
            Registration("slow", as: Int.self, from: .source("push"), options: options) { [calls, gate] number, _ in
                calls.add(number)
                if number == 0 { gate.pass() }
            }
        )
    }

    private func submitBlocked(to intake: any Intake, _ count: Int = 2) async {
        let bodies = (0..<count).map { message("slow", body: "\($0)") }
        gate.onAnotherThread { [sink] in _ = intake.submit(arrivals(bodies), to: sink) }
        await gate.untilEntered(1)
    }

    @Test func aCallThatHangsTimesOutAndItsResultIsLate() async throws {
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .milliseconds(300) }
        try blockingPlugin(supervisor)
        let works = Registration("works", as: Empty.self, from: .source("chat")) { _, _ in }
        try supervisor.register(works)
        let (push, chat) = (try supervisor.intake(for: "push"), try supervisor.intake(for: "chat"))
        try await supervisor.whileRunning {
            await submitBlocked(to: push)
            await clock.tick(3)
            #expect(sink.events.isEmpty)
            await clock.tick(1)
            #expect(sink.outcomes[0]?.map(reason) == ["timeout"])
            #expect(sink.outcomes[1]?.map(reason) == ["unavailable"])
            #expect(await chat.deliver(arrivals(from: "chat", [message("works")])).map(reason) == ["handled"])
            #expect(
                await push.deliver(arrivals(firstToken: 5, [message("slow", body: "5")])).map(reason) == ["unavailable"]
            )
            gate.open()
            await supervisor.untilLateReturns(1)
            var outcomes: [Outcome] = []
            repeat {
                outcomes = await push.deliver(arrivals(firstToken: 6, [message("slow", body: "6")]))
                await Task.yield()
            } while outcomes.map(reason) == ["unavailable"]
            #expect(outcomes == [.handled(reply: nil)])
        }
        #expect(sink.outcomes[0]?.count == 1)
        #expect(calls.numbers == [0, 6])
        #expect(calls.inline == [0])
        #expect(supervisor.report.isClean)
    }

    @Test func aCallAtTwoTicksIsTheLastInline() async throws {
        let supervisor = Supervisor.make(clock: clock)
        try blockingPlugin(supervisor)
        let push = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            await submitBlocked(to: push, 3)
            await clock.tick(1)
            #expect(explanation(supervisor).contains("on the thread of the source"))
            await clock.tick(1)
            #expect(explanation(supervisor).contains("on the lane, because a call took longer than a tick"))
            gate.open()
            await sink.untilSettled(3)
            #expect(
                await push.deliver(arrivals(firstToken: 3, [message("slow", body: "3")])).map(reason) == ["handled"]
            )
        }
        #expect(calls.numbers == [0, 1, 2, 3])
        #expect(calls.inline == [0])
        #expect(sink.outcomes[0]?.map(reason) == ["handled"])
    }

    private func explanation(_ supervisor: Supervisor) -> String {
        let arrival = arrivals([message("slow", body: "1")])[0]
        return supervisor.explain(arrival).steps.first { $0.stage == .lane }?.detail ?? ""
    }

    @Test func aSubmissionAtTwoTicksContinuesOnTheLane() async throws {
        let supervisor = Supervisor.make(clock: clock)
        let second = BlockingGate()
        let options = PluginOptions<Int>(runsInline: true)
        try supervisor.register(
            Registration("slow", as: Int.self, from: .source("push"), options: options) { [calls, gate] number, _ in
                calls.add(number)
                if number == 0 { gate.pass() }
                if number == 1 { second.pass() }
            }
        )
        let push = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            await submitBlocked(to: push, 4)
            await clock.tick(1)
            gate.open()
            await second.untilEntered(1)
            await clock.tick(1)
            second.open()
            await sink.untilSettled(4)
            // Each call was short, so later ones may be inline again.
            #expect(push.submit(arrivals(firstToken: 4, [message("slow", body: "4")]), to: sink) == 1)
            await sink.untilSettled(5)
        }
        #expect(calls.numbers == [0, 1, 2, 3, 4])
        #expect(Set(calls.inline).isDisjoint(with: [2, 3]))
        #expect(Set(calls.inline).isSuperset(of: [0, 1]))
    }

    @Test func theLaneOfARemovedPluginIsReleasedThoughARetryWaits() async throws {
        struct Busy: RetryableError {}
        let supervisor = Supervisor.make(clock: clock) { $0.ackDeadline = .seconds(7_200) }
        let policy = RetryPolicy(attempts: 2, firstDelay: .seconds(3_600), longestDelay: .seconds(3_600))
        let options = PluginOptions<Int>(timeout: .seconds(3_600), retry: policy, runsInline: true)
        try supervisor.register(
            Registration("slow", as: Int.self, from: .source("push"), options: options) { _, _ in throw Busy() }
        )
        let push = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals([message("slow", body: "1")]), to: sink) == 1)
            try supervisor.remove("slow")
            #expect(supervisor.lanes.all.count == 1)
            let isRemoved = await clock.tick { await supervisor.remove(source: "push") }
            #expect(isRemoved)
            await clock.tick(1)
            #expect(supervisor.lanes.all.isEmpty)
        }
    }

    @Test func theLaneOfARemovedPluginIsReleased() async throws {
        let supervisor = Supervisor.make(clock: clock)
        try blockingPlugin(supervisor)
        let push = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals([message("slow", body: "1")]), to: sink) == 1)
            #expect(supervisor.lanes.all.count == 1)
            try supervisor.remove("slow")
            #expect(supervisor.lanes.all.isEmpty)
        }
    }

    @Test func aPluginReplacedDuringItsCallIsFollowedByTheNewOne() async throws {
        let supervisor = Supervisor.make(clock: clock)
        try blockingPlugin(supervisor)
        let push = try supervisor.intake(for: "push")
        let replaced = Mutex<[Int]>([])
        try await supervisor.whileRunning {
            await submitBlocked(to: push)
            let next = Registration("slow", as: Int.self, from: .source("push")) { number, _ in
                replaced.withLock { $0.append(number) }
            }
            try supervisor.register(next, replacing: true)
            #expect(push.submit(arrivals(firstToken: 2, [message("slow", body: "2")]), to: sink) == 1)
            #expect(replaced.withLock { $0 } == [])
            gate.open()
            await sink.untilSettled(3)
        }
        #expect(replaced.withLock { $0 } == [2])
        #expect(calls.inline == [0, 1])
    }

    /// An adapter whose thread is inside an inline call when it is stopped. Like an adapter with a C library, it waits for
    /// the thread.
    private struct ThreadAdapter: Adapter {
        let source: SourceName = "push"
        let features: AdapterFeatures = []
        let gate: BlockingGate
        let sink: RecordingSink
        let isCancelled = Watched(false)

        func run(into intake: any Intake) async throws {
            let isDone = Watched(false)
            gate.onAnotherThread {
                _ = intake.submit(arrivals([message("slow", body: "0")]), to: sink)
                isDone.change { $0 = true }
            }
            await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    Task.detached {
                        await isDone.until { $0 }
                        continuation.resume()
                    }
                }
            } onCancel: {
                isCancelled.change { $0 = true }
            }
        }
    }

    @Test(arguments: [true, false]) func aRunEndsThoughAnInlineCallHangs(isCancelled: Bool) async throws {
        let supervisor = Supervisor.make(clock: clock) { $0.drainLimit = .milliseconds(500) }
        try blockingPlugin(supervisor)
        let adapter = ThreadAdapter(gate: gate, sink: sink)
        try supervisor.add(adapter)
        let run = Task { try await supervisor.run() }
        await gate.untilEntered(1)
        if isCancelled {
            run.cancel()
            try await run.value
        } else {
            supervisor.shutDown()
            try await clock.tick { try await run.value }
        }
        #expect(sink.outcomes[0]?.map(reason) == [isCancelled ? "stop" : "drain"])
        #expect(supervisor.report.callsStillRunning == ["push/slow"])
        #expect(adapter.isCancelled.value)
        gate.open()
    }

    @Test func aSourceWhoseInlineCallHangsCanBeRemoved() async throws {
        let supervisor = Supervisor.make(clock: clock) {
            $0.drainLimit = .milliseconds(500)
            $0.timeout = .milliseconds(100)
        }
        try blockingPlugin(supervisor)
        try supervisor.add(ThreadAdapter(gate: gate, sink: sink))
        _ = try supervisor.intake(for: "chat")
        try await supervisor.whileRunning {
            await gate.untilEntered(1)
            let isRemoved = await clock.tick { await supervisor.remove(source: "push") }
            #expect(isRemoved)
            #expect(sink.outcomes[0]?.map(reason) == ["timeout"])
        }
        gate.open()
    }
}
