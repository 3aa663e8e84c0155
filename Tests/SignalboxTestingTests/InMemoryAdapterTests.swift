import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct InMemoryAdapterTests {
    @Test func anApplicationRepliesToATest() async throws {
        let page = InMemoryAdapter(source: "page")
        let supervisor = try makeSupervisor(page)
        try supervisor.register(Registration("double", as: Int.self, from: .source("page")) { number, _ in number * 2 })
        try await supervisor.whileRunning {
            #expect(await page.send("double", body: "21") == .handled(reply: Bytes("42")))
            let four = try await page.send("double", encoding: 4)
            #expect(four == .handled(reply: Bytes("8")))
            #expect(await reason(page.send("double", body: "true")) == "invalidBody")
            #expect(await reason(page.send("nobody")) == "unknownAction")
            #expect(await reason(page.send(raw: Bytes("not json"))) == "malformed")
        }
        #expect(page.acknowledged.map { $0.id?.text } == ["memory-1", "memory-2", "memory-3", "memory-4", nil])
        #expect(supervisor.deadLetters.letters.last?.original == Bytes("not json"))
    }

    @Test func anIDMayBeAnyText() async throws {
        let page = InMemoryAdapter(source: "page")
        let supervisor = try makeSupervisor(page)
        try supervisor.register(
            Registration("id", as: RawBody.self, from: .source("page")) { _, context in context.id.text }
        )
        let id = try #require(ActionID("a \"b\"\n\u{1F600}"))
        let outcome = try await supervisor.whileRunning { await page.send("id", id: id) }
        guard case .handled(let reply?) = outcome else {
            Issue.record("the action was not handled: \(outcome)")
            return
        }
        #expect(try Body(json: reply).decode(String.self) == id.text)
    }

    @Test func pushesAreRecordedIfTheSourceSupportsThem() async throws {
        for features: AdapterFeatures in [[.replies, .pushes], .replies] {
            let page = InMemoryAdapter(source: "page", features: features)
            let supervisor = try makeSupervisor(page)
            try supervisor.register(
                Registration("hello", as: RawBody.self, from: .source("page")) { _, context in
                    try context.sender?.send("welcome", "you")
                }
            )
            try await supervisor.whileRunning {
                #expect(await page.send("hello") == .handled(reply: nil))
            }
            let expected = [SentAction(action: "welcome", body: Bytes(#""you""#))]
            #expect(page.pushed == (features.contains(.pushes) ? expected : []))
        }
    }

    @Test func anAbandonedMessageIsRedeliveredInTheNextRun() async throws {
        let push = InMemoryAdapter(source: "push", features: .redelivers)
        let gate = Gate()
        let first = try makeSupervisor(push)
        try first.register(
            Registration("work", as: Int.self, from: .source("push")) { number, _ in
                if number > 1 { await gate.pass() }
            }
        )
        let run = Task { try await first.run() }
        let messages = [
            await push.post("work", body: "1"), await push.post("work", body: "2"),
            await push.post("work", body: "3"),
        ]
        await gate.untilArrived(1)
        run.cancel()
        try await run.value
        gate.open()
        #expect(messages.map(\.isAcknowledged) == [true, false, false])
        guard case .abandoned = await messages[2].outcome else {
            Issue.record("the message was not abandoned")
            return
        }

        let second = try makeSupervisor(push)
        let seen = Watched<[Int]>([])
        try second.register(
            Registration("work", as: Int.self, from: .source("push")) { number, _ in
                seen.change { $0.append(number) }
            }
        )
        try await second.whileRunning { await messages[2].untilAcknowledged() }
        #expect(seen.value == [2, 3])
        #expect(messages[1].deliveries == 2)
    }

    @Test func withoutRedeliveryTheRunAbandonsQueuedMessages() async throws {
        let page = InMemoryAdapter(source: "page")
        let supervisor = try makeSupervisor(page, window: WindowLimits(arrivals: 1))
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: RawBody.self, from: .source("page")) { _, _ in await gate.pass() }
        )
        let probe = try makeFullIntake(supervisor, behind: gate)
        async let run: Void = supervisor.run()
        let first = await page.post("work")
        let second = await page.post("work")
        await gate.untilArrived(2)
        supervisor.shutDown()
        await #expect(throws: SourceClosed.self) { try await probe.room() }
        gate.open()
        try await run
        #expect(await second.outcome == .abandoned(.drain))
        #expect(await first.outcome == .handled(reply: nil))
        #expect(page.waiting == 0)
    }

    @Test func aFullQueueMakesTheSenderWait() async throws {
        let page = InMemoryAdapter(source: "page", queueLimit: 2)
        _ = await page.post("work")
        _ = await page.post("work")
        let third = Task { await page.post("work") }
        let fourth = Task { await page.post("work") }
        fourth.cancel()
        #expect(await fourth.value.outcome == .abandoned(.stop))
        #expect(page.waiting == 2)
        let supervisor = try makeSupervisor(page)
        try supervisor.register(Registration("work", as: RawBody.self, from: .source("page")) { _, _ in })
        try await supervisor.whileRunning {
            #expect(await third.value.outcome == .handled(reply: nil))
        }
    }

    @Test func aConcurrentSecondRunIsRefused() async throws {
        let page = InMemoryAdapter(source: "page")
        let supervisor = try makeSupervisor(page)
        try supervisor.register(Registration("work", as: RawBody.self, from: .source("page")) { _, _ in })
        let other = try Supervisor(configuration: .patient, logger: quiet).intake(for: "page")
        try await supervisor.whileRunning {
            _ = await page.send("work")
            await #expect(throws: InMemoryAdapterError.alreadyRunning) { try await page.run(into: other) }
        }
    }

    @Test func aSupervisorCannotRunTwice() async throws {
        let page = InMemoryAdapter(source: "page")
        let supervisor = try makeSupervisor(page)
        try await supervisor.whileRunning {
            _ = await #expect(throws: RegistrationError.closed) {
                try await supervisor.whileRunning { _ = Issue.record("the body started during a run") }
            }
        }
        await #expect(throws: RegistrationError.closed) {
            try await supervisor.whileRunning { _ = Issue.record("the body started after the run") }
        }
    }

    @Test func messagesSentBetweenRunsWaitForTheNextRun() async throws {
        let page = InMemoryAdapter(source: "page")
        let early = await page.post("work")
        let first = try makeSupervisor(page)
        try first.register(Registration("work", as: RawBody.self, from: .source("page")) { _, _ in })
        try await first.whileRunning {
            #expect(await early.outcome == .handled(reply: nil))
        }
        let between = await page.post("work")
        #expect(page.waiting == 1)
        let second = try makeSupervisor(page)
        try second.register(Registration("work", as: RawBody.self, from: .source("page")) { _, _ in })
        try await second.whileRunning {
            #expect(await between.outcome == .handled(reply: nil))
        }
    }

    /// Returns an intake whose window is full until the gate opens. Until then, `room()` ends only by closing.
    private func makeFullIntake(_ supervisor: Supervisor, behind gate: Gate) throws -> any Intake {
        try supervisor.register(
            Registration("hold", as: RawBody.self, from: .source("probe")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "probe", window: WindowLimits(arrivals: 1))
        var batch = ArrivalBatch(pool: ArrivalPool())
        Array(#"{"action":"hold"}"#.utf8).withUnsafeBytes { bytes in
            let origin = Origin(source: "probe", facts: InMemoryFacts())
            batch.append(bytes, token: 0, origin: origin, receivedAt: WallTime(seconds: 0))
        }
        #expect(intake.submit(batch.take(), to: RecordingSink()) == 1)
        return intake
    }

    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func makeSupervisor(_ adapter: InMemoryAdapter, window: WindowLimits = WindowLimits()) throws -> Supervisor
    {
        let supervisor = Supervisor(configuration: .patient, logger: quiet)
        try supervisor.add(adapter, window: window)
        return supervisor
    }
}

@Suite(.timeLimit(.minutes(10))) struct InMemoryConformanceTests {
    static let kinds: [AdapterFeatures] = [[], .replies, .redelivers, [.replies, .pushes], [.replies, .redelivers]]

    @Test(arguments: kinds) func anInMemoryAdapterConforms(_ features: AdapterFeatures) async {
        let report = await Self.suite(features).run()
        #expect(report.isConforming, "\(report)")
        let all = Set(AdapterConformance.Case.allCases)
        let skipped: Set<AdapterConformance.Case> = features.contains(.replies) ? [] : [.answersEverySender]
        #expect(Set(report.passed) == all.subtracting(skipped))
        #expect(Set(report.skipped.keys) == skipped)
    }

    @Test func concurrentCasesConform() async {
        let report = await Self.suite([.replies, .redelivers]).stress()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    private static func suite(_ features: AdapterFeatures) -> AdapterConformance {
        AdapterConformance { source in InMemorySubject(source, features: features) }
    }
}

/// An in-memory adapter with its sender.
final class InMemorySubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = 10
    private let memory: InMemoryAdapter
    private let sent = Watched<[ActionID: InMemoryMessage]>([:])

    init(_ source: SourceName, features: AdapterFeatures) {
        memory = InMemoryAdapter(source: source, features: features, queueLimit: 20, batchLimit: batchBound)
        adapter = memory
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        for message in messages {
            let posted = await memory.post(raw: Bytes(message.envelope))
            sent.change { $0[message.id] = posted }
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        await sent.until { $0[id] != nil }
        guard let message = sent.value[id] else { throw CancellationError() }
        return ConformanceAnswer(await message.outcome)
    }

    func end() async {}
}
