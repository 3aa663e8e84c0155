import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct AdapterConformanceTests {
    enum Role: CaseIterable, Sendable {
        case server, feed

        func suite(answers: Bool) -> AdapterConformance {
            switch self {
            case .server: AdapterConformance { source in try await ServerSubject(source, answers: answers) }
            case .feed: AdapterConformance { source in try await FeedSubject(source, answers: answers) }
            }
        }
    }

    @Test(arguments: Role.allCases) func aSourceThatAnswersConforms(role: Role) async {
        let report = await role.suite(answers: true).run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test(arguments: Role.allCases) func aSourceThatAnswersNobodyConforms(role: Role) async {
        let report = await role.suite(answers: false).run()
        #expect(report.isConforming, "\(report)")
        #expect(Array(report.skipped.keys) == [.answersEverySender])
        #expect(report.passed.count == AdapterConformance.Case.allCases.count - 1)
    }

    @Test(arguments: Role.allCases) func manyCasesAtOnceConformToo(role: Role) async {
        let report = await role.suite(answers: true).stress(times: 3)
        #expect(report.isConforming, "\(report)")
    }
}
