import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct FaultyConformanceTests {
    struct Expectation: Sendable, CustomTestStringConvertible {
        let fault: FaultyAdapter.Fault
        let testCase: AdapterConformance.Case
        /// A piece of what the finding must say was expected.
        let text: String

        var testDescription: String { "\(fault) in \(testCase)" }

        init(_ fault: FaultyAdapter.Fault, _ testCase: AdapterConformance.Case, _ text: String) {
            self.fault = fault
            self.testCase = testCase
            self.text = text
        }
    }

    static let expectations: [Expectation] = [
        Expectation(.dropsOne, .deliverAll, "every message reaches its plugin"),
        Expectation(.deliversOneTwice, .deliverAll, "every message comes once"),
        Expectation(.dropsTheLong, .deliverAll, "every message reaches its plugin"),
        Expectation(.cutsTheLong, .deliverAll, "bodies arrive as they were sent"),
        Expectation(.altersABody, .deliverAll, "bodies arrive as they were sent"),
        Expectation(.redeliversEverything, .deliverAll, "only what was sent comes"),
        Expectation(.hasASender, .deliverAll, "have a sender"),
        Expectation(.reorders, .orderPerSource, "the order of sending"),
        Expectation(.staysBusyWhenCancelledEarly, .concurrentStartAndStop, "a cancelled run throws nothing"),
        Expectation(.endsAfter("threw"), .throwingPlugin, "a run goes on until it is cancelled"),
        Expectation(.endsAfter("unknownAction"), .unknownAction, "a run goes on until it is cancelled"),
        Expectation(.dropsTheUnreadable, .malformedArrival, "10 unreadable messages are rejected"),
        Expectation(.forgetsTheUnreadable, .malformedArrival, "contain the id that was sent"),
        Expectation(.endsAfter("sourceNotAllowed"), .forbiddenSource, "a run goes on until it is cancelled"),
        Expectation(.liesAboutItsSource, .forbiddenSource, "a plugin that does not allow the source is never called"),
        Expectation(.answersAllAsHandled, .answersEverySender, "is an error with code threw"),
        Expectation(.ignoresRoom, .windowFullThenDrained, "no submit before room() returned"),
        Expectation(.returnsEarly, .drainOnStop, "the run returns when it has heard of every arrival taken"),
        Expectation(.throwsWhenStopped, .stopIsIdempotent, "a cancelled run throws nothing"),
        Expectation(.submitsAfterItsRun, .stopIsIdempotent, "no submit after the run returned"),
        Expectation(.endsAfter("timeout"), .hungPlugin, "a run goes on until it is cancelled"),
        Expectation(.forgetsTheAbandoned, .abandonedIsNotAcknowledged, "every message reaches its plugin"),
        Expectation(.offersAllItHas, .memoryBoundedUnderSlowPlugin, "arrivals are inside or offered at once"),
        Expectation(.keepsTheRejected, .unknownAction, "does not come again in the next run"),
        Expectation(.keepsTheRejected, .forbiddenSource, "does not come again in the next run"),
        Expectation(.keepsTheRejected, .malformedArrival, "does not come again in the next run"),
        Expectation(.reusesTokens, .deliverAll, "tokens of unsettled arrivals differ"),
        Expectation(.dropsRepeats, .repeatWhileRunning, "has the outcome handled twice"),
        Expectation(.dropsRepeats, .repeatAfterHandled, "has the outcome handled twice"),
        Expectation(.dropsRepeats, .repeatAfterFailed, "has the outcome threw twice"),
        Expectation(.marksRepeats, .repeatAfterHandled, "has the outcome handled twice"),
    ]

    @Test(arguments: expectations)
    func theCaseFindsTheFault(_ expectation: Expectation) async {
        let report = await Self.suite(expectation.fault).run([expectation.testCase])
        #expect(report.passed.isEmpty)
        #expect(
            report.findings.contains { $0.testCase == expectation.testCase && $0.expected.contains(expectation.text) },
            "\(report)"
        )
    }

    @Test(arguments: [
        (FaultyAdapter.Fault.answersNobody, AdapterConformance.Case.answersEverySender),
        (.hangsWhenStopped, .drainOnStop),
    ])
    func aCaseThatDoesNotEndIsAFindingThatSaysWhereItStands(
        _ fault: FaultyAdapter.Fault,
        _ testCase: AdapterConformance.Case
    ) async {
        let report = await Self.suite(fault, limit: .seconds(3)).run([testCase])
        #expect(report.findings.map(\.expected) == ["the case ends"], "\(report)")
        // Which step that is, is up to the machine: on a slow one the subject is still being made.
        #expect(report.findings.allSatisfy { $0.seen.contains(/, while [a-z]+ .*; \d+ messages/) }, "\(report)")
    }

    @Test func everyCaseHasAFaultThatItFinds() {
        let found = Set(Self.expectations.map(\.testCase))
        #expect(found == Set(AdapterConformance.Case.allCases))
    }

    @Test(arguments: [FaultyAdapter.Fault.none, .asksForRoomFirst])
    func withoutAFaultTheSameAdapterConforms(_ none: FaultyAdapter.Fault) async {
        let report = await Self.suite(none).run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test func aSubjectThatCannotBeMadeIsAFinding() async {
        let report = await AdapterConformance { _ in throw ConformanceError("no broker") }.run([.deliverAll])
        #expect(report.findings.map(\.seen) == ["an error while making the subject: no broker"])
    }

    private static func suite(_ fault: FaultyAdapter.Fault, limit: Duration = .seconds(60)) -> AdapterConformance {
        AdapterConformance(limit: limit) { source in FaultySubject(source, fault) }
    }
}
