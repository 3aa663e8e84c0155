import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@testable import Signalbox

@Suite struct RoutingTests {
    @Test func anActionReachesItsPluginAsATypedValue() async throws {
        let supervisor = Supervisor.make()
        let seen = Mutex<[Loading]>([])
        try supervisor.register(
            Registration("loading", as: Loading.self, from: .source("push")) { info, _ in
                seen.withLock { $0.append(info) }
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals([message("loading", body: #"{"isShow":true}"#)]))
            #expect(outcomes == [.handled(reply: nil)])
        }
        #expect(seen.withLock { $0 } == [Loading(isShow: true)])
        #expect(supervisor.report.total == OutcomeCounts(handled: 1))
        #expect(supervisor.report.isClean)
    }

    @Test func eachArrivalOfABatchIsRoutedByItsNameAndOrigin() async throws {
        let supervisor = Supervisor.make()
        for action: ActionName in ["load", "loud"] {
            try supervisor.register(Registration(action, as: Empty.self, from: .source("push")) { _, _ in "\(action)" })
        }
        let intake = try supervisor.intake(for: "push")
        let origins = ["push", "chat"].map { Origin(source: $0, facts: TestFacts(label: "")) }
        let texts = [message("load"), message("loud"), "not json"]
        let order = [(0, 0), (0, 0), (1, 0), (1, 1), (1, 0), (2, 0), (2, 0), (0, 0), (0, 1), (0, 1), (0, 0), (0, 0)]
        var batch = ArrivalBatch(pool: ArrivalPool())
        for (token, (text, origin)) in order.enumerated() {
            Array(texts[text].utf8).withUnsafeBytes {
                batch.append(
                    $0,
                    token: UInt64(token),
                    origin: origins[origin],
                    receivedAt: WallTime(seconds: 1)
                )
            }
        }
        let arrivals = batch.take()
        try await supervisor.whileRunning {
            let answers = await intake.deliver(arrivals).map { outcome in
                if case .handled(let reply) = outcome { reply?.text } else { reason(outcome) }
            }
            let expected = order.map { text, origin in
                text == 2 ? "malformed" : origin == 1 ? "sourceNotAllowed" : text == 0 ? "\"load\"" : "\"loud\""
            }
            #expect(answers == expected)
        }
    }

    @Test func aReplyIsWrittenAsCompactJSON() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(
            Registration("sum", as: [Int].self, from: .source("push")) { numbers, context in
                ["total": numbers.reduce(0, +), "count": numbers.count]
            }
        )
        try supervisor.register(
            Registration("sum.later", as: [Int].self, from: .source("push")) { numbers, context in
                await Task.yield()
                return numbers.reduce(0, +)
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let batch = arrivals([message("sum", body: "[1,2,3]"), message("sum.later", body: "[4,5]")])
            let outcomes = await intake.deliver(batch)
            #expect(outcomes == [.handled(reply: Bytes(#"{"count":3,"total":6}"#)), .handled(reply: Bytes("9"))])
        }
    }

    @Test func rejectionsAndFailuresBecomeDeadLetters() async throws {
        let supervisor = Supervisor.make()
        let calls = Atomic(0)
        try supervisor.register(
            Registration("loading", as: Loading.self, from: .source("push")) { _, _ in
                calls.wrappingAdd(1, ordering: .relaxed)
            }
        )
        try supervisor.register(
            Registration("closed", as: Empty.self, from: .any([])) { _, _ in
                calls.wrappingAdd(1, ordering: .relaxed)
            }
        )
        try supervisor.register(
            Registration("breaks", as: Empty.self, from: .source("push")) { _, _ in throw Broken() }
        )
        let intake = try supervisor.intake(for: "push")
        let messages = [
            "not json", message("nobody"), message("closed"), message("loading", body: #"{"isShow":1}"#),
            message("breaks"),
        ]
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals(messages))
            #expect(outcomes.map(reason) == ["malformed", "unknownAction", "sourceNotAllowed", "invalidBody", "threw"])
            guard case .rejected(let rejection) = outcomes[3] else { return }
            #expect(rejection.bodyError?.path == "body.isShow")
        }
        #expect(calls.load(ordering: .relaxed) == 0)
        #expect(supervisor.report.total == OutcomeCounts(rejected: 4, failed: 1))
        let letters = supervisor.deadLetters.letters
        #expect(Set(letters.map { $0.original.text }) == Set(messages))
        #expect(letters.first { $0.original.text == messages[1] }?.action == "nobody")
    }

    @Test func anAccessRuleMayInspectFacts() async throws {
        let supervisor = Supervisor.make()
        let trusted = AccessRule("label trusted") { ($0.facts as? TestFacts)?.label == "trusted" }
        try supervisor.register(Registration("open", as: Empty.self, from: trusted) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let good = await intake.deliver(arrivals(label: "trusted", [message("open"), message("open")]))
            let bad = await intake.deliver(arrivals(label: "stranger", [message("open"), message("open")]))
            #expect(good.map(reason) == ["handled", "handled"])
            #expect(bad.map(reason) == ["sourceNotAllowed", "sourceNotAllowed"])
        }
    }

    @Test func anExpiredActionIsNotCalled() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("open", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let late = arrivals(deadline: .now - .seconds(1), [message("open")])
            let early = arrivals(deadline: .now + .seconds(600), [message("open")])
            let outcomes = await intake.deliver(late) + intake.deliver(early)
            #expect(outcomes.map(reason) == ["expired", "handled"])
        }
    }

    @Test func aMainActorPluginIsCalledOnTheMainActor() async throws {
        let supervisor = Supervisor.make()
        let plugin = ClassicPlugin()
        try supervisor.register(Registration(plugin, from: .source("push")))
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals([message("loading", id: "7", body: #"{"isShow":false}"#)]))
            #expect(outcomes == [.handled(reply: nil)])
        }
        #expect(await plugin.seen == ["7 false"])
    }

    @Test func anOutcomeIsObservedBeforeTheAdapterMayAcknowledge() async throws {
        let order = Mutex<[String]>([])
        let supervisor = Supervisor.make { configuration in
            configuration.onOutcome = { settled in order.withLock { $0.append("reported \(settled.outcome.name)") } }
        }
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals([message("nobody")]), to: sink) == 1)
            await sink.untilSettled(1)
        }
        #expect(order.withLock { $0 } == ["reported rejected"])
        #expect(sink.events.first == .mayAcknowledge(0))
        #expect(sink.events.count == 2)
    }
}

struct Broken: Error {}

@MainActor final class ClassicPlugin: Plugin {
    nonisolated let action: ActionName = "loading"
    private(set) var seen: [String] = []

    func callAsAction(_ info: Loading, context: ActionContext) async throws {
        seen.append("\(context.id) \(info.isShow)")
    }
}

/// Returns the reason of an outcome, or `handled`.
func reason(_ outcome: Outcome) -> String {
    switch outcome {
    case .handled: "handled"
    case .rejected(let rejection): "\(rejection.reason)"
    case .failed(let failure): "\(failure.reason)"
    case .abandoned(let abandonment): "\(abandonment)"
    }
}
