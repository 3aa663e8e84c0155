#if WebKitGTK
import SignalboxTesting
import Testing

extension WebKitGTKTests {
    @Suite struct ViewConformanceTests {
        @Test func aWebViewConforms() async {
            let report = await Self.suite.run()
            #expect(report.isConforming, "\(report)")
            #expect(report.passed == AdapterConformance.Case.allCases)
        }

        @Test func someOfEachCaseAtOnceConformToo() async {
            let report = await Self.suite.stress(times: 2, atOnce: 4)
            #expect(report.isConforming, "\(report)")
        }

        private static let suite = AdapterConformance { source in try ViewSubject(source) }
    }
}
#endif
