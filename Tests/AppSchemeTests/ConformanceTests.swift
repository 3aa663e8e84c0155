import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConformanceTests {
    private static let inapplicable: Set<AdapterConformance.Case> = [.answersEverySender]

    @Test func aSourceOfLinksConforms() async {
        let report = await Self.suite.run()
        #expect(report.isConforming, "\(report)")
        #expect(Set(report.passed) == Set(AdapterConformance.Case.allCases).subtracting(Self.inapplicable))
        #expect(Set(report.skipped.keys) == Self.inapplicable)
    }

    @Test func manyCasesAtOnceConformToo() async {
        let report = await Self.suite.stress(times: 5)
        #expect(report.isConforming, "\(report)")
    }

    private static let suite = AdapterConformance { source in try LinkSubject(source) }
}
