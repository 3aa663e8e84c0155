import SignalboxCore
import SignalboxTesting
import Testing

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

    @Test func manyCasesAtOnceConformToo() async {
        let report = await Self.suite([.replies, .redelivers]).stress()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    private static func suite(_ features: AdapterFeatures) -> AdapterConformance {
        AdapterConformance { source in InMemorySubject(source, features: features) }
    }
}
