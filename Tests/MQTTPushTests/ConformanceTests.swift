import BrokerKit
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test func aPushSourceConforms() async throws {
        try await Broker.with { broker in
            let report = await Self.suite(broker).run()
            #expect(report.isConforming, "\(report)")
            #expect(Set(report.skipped.keys) == [.answersEverySender, .repeatWhileRunning])
            #expect(report.passed.count == AdapterConformance.Case.allCases.count - report.skipped.count)
        }
    }

    @Test func manyCasesAtOnceConformToo() async throws {
        try await Broker.with { broker in
            let report = await Self.suite(broker).stress(times: 5)
            #expect(report.isConforming, "\(report)")
        }
    }

    @Test func aSourceThatAnswersAndSendsConforms() async throws {
        try await Broker.with { broker in
            let report = await Self.answering(broker).run()
            #expect(report.isConforming, "\(report)")
            #expect(Set(report.skipped.keys) == [.repeatWhileRunning])
        }
    }

    @Test func fiveOfEachCaseThatAnswerConformAtOnce() async throws {
        try await Broker.with { broker in
            let report = await Self.answering(broker).stress(times: 5, atOnce: 10)
            #expect(report.isConforming, "\(report)")
        }
    }

    private static func answering(_ broker: Broker) -> AdapterConformance {
        AdapterConformance { source in try await AnsweringSubject(source, broker: broker) }
    }

    private static func suite(_ broker: Broker) -> AdapterConformance {
        AdapterConformance { source in try await MQTTPushSubject(source, broker: broker) }
    }
}
