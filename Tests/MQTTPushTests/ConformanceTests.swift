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

    @Test func twentyOfEachCaseAtOnceConformToo() async throws {
        try await Broker.with { broker in
            let report = await Self.suite(broker).stress()
            #expect(report.isConforming, "\(report)")
        }
    }

    private static func suite(_ broker: Broker) -> AdapterConformance {
        AdapterConformance { source in try await MQTTPushSubject(source, broker: broker) }
    }
}
