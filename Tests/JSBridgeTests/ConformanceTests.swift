import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test func aHeadlessPageConforms() async {
        let report = await Self.suite.run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test func manyCasesAtOnceConformToo() async {
        let report = await Self.suite.stress(times: 5)
        #expect(report.isConforming, "\(report)")
    }

    private static let suite = AdapterConformance { source in try PageSubject(source) }
}
