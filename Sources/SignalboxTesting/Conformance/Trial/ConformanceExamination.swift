import SignalboxCore

/// One run of one case: makes the subject, tries the case on it, and can say where it stands when it does not end.
final class ConformanceExamination: Sendable {
    private let testCase: AdapterConformance.Case
    private let make: @Sendable (SourceName) async throws -> any ConformanceSubject
    private let subject = Watched<(any ConformanceSubject)?>(nil)
    private let record = Watched(ConformanceRecord())

    init(
        _ testCase: AdapterConformance.Case,
        make: @escaping @Sendable (SourceName) async throws -> any ConformanceSubject
    ) {
        self.testCase = testCase
        self.make = make
    }

    func perform() async -> ConformanceVerdict {
        do {
            let source = ConformanceExamination.makeSource(for: testCase)
            let subject = try await record.during("making the subject") { try await make(source) }
            self.subject.change { $0 = subject }
            if let reason = testCase.inapplicable(to: subject) {
                return ConformanceVerdict(skipped: reason)
            }
            try await ConformanceTrial(subject, record: record).perform(testCase)
        } catch is CancellationError {
            record.change { if $0.problems.isEmpty { $0.found("the case goes on", "it was cancelled") } }
        } catch {
            record.change { $0.found("the case can be tried", "an error while \($0.step): \(error)") }
        }
        return verdict
    }

    func end() async {
        await subject.value?.end()
    }

    /// What is known about a case that has not ended.
    func overdue(_ limit: Duration) -> ConformanceVerdict {
        record.change { $0.found("the case ends", "it had not ended after \(limit), while \($0.summary)") }
        return verdict
    }

    private var verdict: ConformanceVerdict {
        let findings = record.value.problems.map { problem in
            ConformanceFinding(testCase: testCase, expected: problem.expected, seen: problem.seen)
        }
        return ConformanceVerdict(findings: findings)
    }

    /// A name that no other subject of this or another run of the program has.
    private static func makeSource(for testCase: AdapterConformance.Case) -> SourceName {
        let suffix = String(UInt64.random(in: .min ... .max), radix: 36)
        do {
            return try SourceName("\(testCase.rawValue)-\(suffix)")
        } catch {
            preconditionFailure("a case's name is in the grammar of sources: \(error)")
        }
    }
}
