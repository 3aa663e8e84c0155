import BrokerKit
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
    private static let suite = AdapterConformance(limit: .seconds(60)) { source in try SocketSubject(source) }

    @Test func pagesInBrowsersConform() async {
        let report = await Self.suite.run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test func manyCasesAtOnceConformToo() async {
        let report = await Self.suite.stress(times: 5)
        #expect(report.isConforming, "\(report)")
    }
}

extension InChromium {
    @Suite struct ChromiumConformanceTests {
        @Test func aRealPageConforms() async throws {
            try await Chromium.with { browser in
                let report = await AdapterConformance { try await ChromiumSubject($0, browser) }.run()
                #expect(report.isConforming, "\(report)")
                #expect(report.passed == AdapterConformance.Case.allCases)
            }
        }
    }
}
