import BrokerKit
import JSBridge
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

    @Test func aPageInAProcessOfItsOwnConforms() async {
        let report = await Self.ownProcess.run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test func manyCasesAtOnceInProcessesOfTheirOwnConformToo() async {
        let report = await Self.ownProcess.stress(times: 2)
        #expect(report.isConforming, "\(report)")
    }

    private static let ownProcess = AdapterConformance { source in
        var process = ScriptProcess(program: BuiltProgram.path("PageProcess"))
        // The memory that a sanitizer takes for itself counts as well.
        process.memoryLimit = 4 << 30
        return try PageSubject(source, in: process)
    }

    private static let suite = AdapterConformance { source in try PageSubject(source) }
}
