import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import JSBridge

/// Calls of the page's world that bypass the bridge, from a frame or from a page of another origin.
@Suite(.timeLimit(.minutes(10))) struct WebViewRawTests {
    private final class Answers: Sendable {
        let all = EventList<RawAnswer>()

        func record(_ answer: RawAnswer) {
            all.append(answer)
        }
    }

    @Test func scriptRulesRefuseRawCalls() async throws {
        let supervisor = Supervisor(
            configuration: .patient,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let calls = Atomic(0)
        let origin = try WebOrigin("https://app.example")
        try supervisor.register(
            Registration("page", as: RawBody.self, from: .script()) { _, _ in
                calls.wrappingAdd(1, ordering: .relaxed)
            }
        )
        try supervisor.register(
            Registration("greet", as: RawBody.self, from: .script(origin: origin, mainFrameOnly: false)) { _, _ in
                calls.wrappingAdd(1, ordering: .relaxed)
            }
        )
        let trial = try WebViewTrial(supervisor.intake(for: "page"))
        let answers = Answers()
        try await supervisor.whileRunning {
            try await trial.whileRunning {
                for handler in ["page", "user"] {
                    trial.run.receivedRaw(handler, #"{"action":"greet"}"#, reply: answers.record)
                    trial.run.receivedRaw(handler, nil, reply: answers.record)
                }
                let refusal = RawAnswer.error("sourceNotAllowed: this page may not call the action")
                #expect(await answers.all.first(4) == [refusal, refusal, refusal, refusal])
            }
        }
        #expect(calls.load(ordering: .relaxed) == 0)
    }

    @Test func rawCallsHaveUnknownFactsAndNoSender() async throws {
        let intake = RecordingIntake { $0.settle(.handled(reply: Bytes(#"{"a":1}"#))) }
        let trial = try WebViewTrial(intake)
        let answers = Answers()
        try await trial.whileRunning {
            trial.run.receivedRaw("user", "\"Hello\"", reply: answers.record)
            #expect(await answers.all.first(1) == [.reply(#"{"a":1}"#)])
        }
        let arrival = try #require(intake.taken.all.first?.arrival)
        let facts = try #require(arrival.origin.facts as? ScriptFacts)
        #expect(facts.isMainFrame == .unknown && facts.origin == nil && arrival.sender == nil)
        #expect(intake.taken.all.first?.name == "greet")
    }

    @Test func eachRawCallIsAnswered() async throws {
        let intake = RecordingIntake { taken in
            if case .failure(let rejection) = taken.arrival.reading { return taken.settle(.rejected(rejection)) }
            taken.settle()
        }
        let trial = try WebViewTrial(intake)
        let answers = Answers()
        try await trial.whileRunning {
            trial.run.receivedRaw("page", "{", reply: answers.record)
            trial.run.receivedRaw("page", String(repeating: "é", count: 40_000), reply: answers.record)
            trial.run.receivedRaw("nobody", "1", reply: answers.record)
            trial.run.receivedRaw("page", "null", reply: answers.record)
            let codes = await answers.all.first(4).map { answer -> String in
                guard case .error(let text) = answer else { return "\(answer)" }
                return String(text.prefix { $0 != ":" })
            }
            #expect(codes == ["malformed", "malformed", "unknownAction", "reply(\"null\")"])
        }
        #expect(intake.taken.all[1].arrival.original.count == 65_536)
    }

    @Test func rawCallsBeyondTheBoundAreRejectedAndCounted() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake)
        let (answers, late) = (Answers(), Answers())
        try await trial.whileRunning {
            for _ in 0..<64 { trial.run.receivedRaw("page", "1", reply: answers.record) }
            for _ in 0..<1_000 { trial.run.receivedRaw("page", "1", reply: late.record) }
            #expect(late.all.all.count == 1_000 && answers.all.all.isEmpty)
            #expect(Set(late.all.all) == [.error("unavailable: 64 such calls are waiting for an answer")])
            #expect(trial.counters.value.rawCallsRefused == 1_000)
            try await trial.evaluate("signalbox.call('mine').then(() => report('mine'));")
            await intake.taken.first(65).last?.settle()
            #expect(await trial.reports.first(1) == ["mine"], "the page's own calls continue")
            intake.taken.all[0].settle()
            trial.run.receivedRaw("page", "2", reply: answers.record)
            #expect(intake.taken.all.count == 66, "there is room again")
            trial.run.close()
            #expect(answers.all.all.count == 65, "each call is answered")
            for one in intake.taken.all { one.settle() }
        }
        #expect(answers.all.all.count == 65)
        #expect(Set(answers.all.all) == [.reply("null"), .error("closed: the page is closing")])
        #expect(trial.log.all.count { $0.contains("a raw call was rejected") } == 1)
    }
}

@Suite struct RawRateLimitTests {
    private let start = ContinuousClock.now

    @Test func messagesPerSecondAreLimited() {
        var budget = RawRateLimit()
        var answers: [Bool] = []
        for _ in 0..<RawRateLimit.messages { answers.append(budget.take(10, in: .zero, at: start)) }
        #expect(answers.count { $0 } == RawRateLimit.messages - 1)
        #expect(answers.last == false)
        let later = [
            budget.take(10, in: .zero, at: start + .milliseconds(999)),
            budget.take(10, in: .zero, at: start + .seconds(1)),
        ]
        #expect(later == [false, true])
    }

    @Test func bytesPerSecondAreLimited() {
        var budget = RawRateLimit()
        let answers = [
            budget.take(RawRateLimit.bytes - 1, in: .zero, at: start), budget.take(1, in: .zero, at: start),
            budget.take(.max, in: .zero, at: start),
            budget.take(.max, in: .zero, at: start + .seconds(2)), budget.take(1, in: .zero, at: start + .seconds(3)),
        ]
        #expect(answers == [true, false, false, false, true])
    }

    @Test func processorTimePerSecondIsLimited() {
        var budget = RawRateLimit()
        let answers = [
            budget.take(1, in: .milliseconds(99), at: start), budget.take(1, in: .milliseconds(1), at: start),
            budget.take(1, in: .seconds(9), at: start + .seconds(9)),
            budget.take(1, in: .zero, at: start + .seconds(10)),
        ]
        #expect(answers == [true, false, false, true])
    }
}
