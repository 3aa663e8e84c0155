public import SignalboxCore

/// The suite that every adapter must pass. It runs the adapter in a real supervisor, sends messages from the adapter's
/// remote end, and reports violations of the adapter contract.
///
/// Each case checks its own subject. In addition, every case puts an intake between the adapter and the supervisor, and
/// checks these rules:
///
/// - Each arrival taken is settled exactly once, and no abandoned arrival is acknowledged.
/// - The tokens of unsettled arrivals differ, and origins name the adapter's source.
/// - Arrivals have a sender if and only if the adapter's features contain `pushes`.
/// - Batches keep to the stated bound. When a submit is cut short, the adapter waits for room.
/// - A run returns only after all its arrivals are settled or acknowledged, and submits nothing afterwards.
///
/// A manual clock drives the supervisor, so the findings do not depend on the speed of the machine. The suite works
/// with any test framework:
///
/// ```swift
/// let suite = AdapterConformance { source in try await ChatSubject(source) }
/// let report = await suite.run()
/// #expect(report.isConforming, "\(report)")
/// ```
public struct AdapterConformance: Sendable {
    private let limit: Duration
    private let make: @Sendable (SourceName) async throws -> any ConformanceSubject

    /// Creates a suite for the adapter of the subjects that `make` returns.
    ///
    /// - Parameters:
    ///   - limit: The maximum real time of one case, as a guard against an adapter that hangs. The default is 300 s. A
    ///     case that reaches the limit is a finding, and its work is cancelled and left running.
    ///   - make: A closure that creates a subject for a source. It is called once per case, and in the stress form
    ///     several tasks call it concurrently. Every source name is unique, both within a run of the program and
    ///     between runs.
    public init(
        limit: Duration = .seconds(300),
        make: @escaping @Sendable (SourceName) async throws -> any ConformanceSubject
    ) {
        self.limit = limit
        self.make = make
    }

    /// Runs the cases one after the other. By default, it runs all cases.
    public func run(_ cases: [Case] = Case.allCases) async -> ConformanceReport {
        await perform(cases, atOnce: 1)
    }

    /// Runs each case repeatedly, with several cases in parallel and a separate subject for each. Use it to find faults
    /// that depend on timing.
    ///
    /// - Parameters:
    ///   - cases: The cases to run. By default, all cases are run.
    ///   - times: The number of runs per case, at least 1. The default is 20.
    ///   - atOnce: The number of parallel runs, at least 1. The default is 20.
    public func stress(
        _ cases: [Case] = Case.allCases,
        times: Int = 20,
        atOnce: Int = 20
    ) async -> ConformanceReport {
        precondition(times >= 1 && atOnce >= 1, "a case runs at least once")
        return await perform(cases.flatMap { Array(repeating: $0, count: times) }, atOnce: atOnce)
    }

    private func perform(_ cases: [Case], atOnce: Int) async -> ConformanceReport {
        var verdicts: [Case: [ConformanceVerdict]] = [:]
        await withTaskGroup(of: (Case, ConformanceVerdict).self) { group in
            var begun = 0
            func beginNext() {
                guard begun < cases.count else { return }
                let next = cases[begun]
                begun += 1
                group.addTask { (next, await examine(next)) }
            }
            for _ in 0..<atOnce { beginNext() }
            while let (testCase, verdict) = await group.next() {
                verdicts[testCase, default: []].append(verdict)
                beginNext()
            }
        }
        return ConformanceReport(verdicts)
    }

    private func examine(_ testCase: Case) async -> ConformanceVerdict {
        let examination = ConformanceExamination(testCase, make: make)
        let verdict = await TimeLimit.within(limit) {
            await examination.perform()
        } late: {
            examination.overdue(limit)
        }
        // If the subject hangs, its end may hang too.
        await TimeLimit.within(limit) {
            await examination.end()
        } late: {
        }
        return verdict
    }
}

extension ConformanceReport {
    /// Collects the verdicts in the order of the cases. A case passes if all its runs pass.
    init(_ verdicts: [AdapterConformance.Case: [ConformanceVerdict]]) {
        for testCase in AdapterConformance.Case.allCases {
            guard let verdicts = verdicts[testCase] else { continue }
            let found = verdicts.flatMap(\.findings)
            findings += found
            if let reason = verdicts.lazy.compactMap(\.skipped).first {
                skipped[testCase] = reason
            } else if found.isEmpty {
                passed.append(testCase)
            }
        }
    }
}

extension AdapterConformance {
    /// The cases of the suite. A conforming adapter passes every case that applies to its features. Later versions may
    /// add cases.
    public enum Case: String, CaseIterable, Sendable, Hashable, CustomStringConvertible {
        /// Every message, of up to 60 KB, reaches its plugin once and complete. None is redelivered in the next run.
        case deliverAll
        /// Plugins receive the messages of a source in sending order, even if the window is small.
        case orderPerSource
        /// Many runs are cancelled before, while and after they start, and some are cancelled twice. Every message is
        /// still delivered.
        case concurrentStartAndStop
        /// A plugin that throws fails only its own arrivals.
        case throwingPlugin
        /// An action without a plugin is rejected, and the messages around it are handled.
        case unknownAction
        /// If a message is not an action, it becomes a rejected arrival whose original bytes contain the message's id.
        /// The messages around it are handled.
        case malformedArrival
        /// A plugin that does not allow the source is never called.
        case forbiddenSource
        /// Every message is answered with its own outcome. The case requires the feature `replies`.
        case answersEverySender
        /// When the window is full, the adapter waits for room. Afterwards, all messages arrive in order.
        case windowFullThenDrained
        /// A graceful stop settles every arrival that was taken before the run returns. The messages that were not
        /// taken are redelivered, or their sender is notified.
        case drainOnStop
        /// Stopping twice has the same effect as stopping once, and the adapter can run again afterwards.
        case stopIsIdempotent
        /// A plugin that never returns fails its own call with a timeout, while other plugins continue.
        case hungPlugin
        /// An abandoned message is never acknowledged. Instead, it is redelivered or its sender is notified.
        case abandonedIsNotAcknowledged
        /// If a plugin is slow, the arrivals that are unsettled or offered never exceed the window and one batch.
        case memoryBoundedUnderSlowPlugin
        /// If a message is sent again while it runs, it reaches its plugin once and has its outcome twice. The case
        /// requires a subject that submits while one of its messages runs.
        case duplicateWhileRunning
        /// If a message is sent again after it was handled, it is acknowledged and answered as before, without a call.
        case duplicateAfterHandled
        /// If a message is sent again after it failed, it reaches its plugin again.
        case duplicateAfterFailed

        /// The name of the case.
        public var description: String { rawValue }

        /// Returns the reason why the case does not apply to the subject, or `nil` if it applies.
        func inapplicable(to subject: any ConformanceSubject) -> String? {
            switch self {
            case .answersEverySender:
                subject.adapter.features.contains(.replies) ? nil : "the adapter does not answer senders"
            case .duplicateWhileRunning:
                subject.submitsWhileOneRuns ? nil : "the adapter submits nothing while one of its messages runs"
            default: nil
            }
        }
    }
}

/// The result of a run of the conformance suite.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    /// The cases that ran without findings.
    public internal(set) var passed: [AdapterConformance.Case] = []
    /// The cases that do not apply to the subject or its adapter's features, with the reasons.
    public internal(set) var skipped: [AdapterConformance.Case: String] = [:]
    /// The findings in the order of the cases. The list is empty if the adapter conforms.
    public internal(set) var findings: [ConformanceFinding] = []

    /// Whether there are no findings.
    public var isConforming: Bool { findings.isEmpty }

    /// A line with the counts, followed by one line per skipped case and one line per finding.
    public var description: String {
        let skips = skipped.map { "\($0.key) skipped: \($0.value)" }.sorted()
        let head = "\(passed.count) cases passed, \(skipped.count) skipped, \(findings.count) findings"
        return ([head] + skips + findings.map(\.description)).joined(separator: "\n")
    }
}

/// A violation of the contract by an adapter or its environment.
public struct ConformanceFinding: Sendable, Hashable, CustomStringConvertible {
    /// The case that found the violation.
    public let testCase: AdapterConformance.Case
    /// The expected behaviour.
    public let expected: String
    /// The behaviour that the case observed.
    public let seen: String

    /// One line with the case, the expected behaviour and the observed behaviour.
    public var description: String { "\(testCase): expected: \(expected); seen: \(seen)" }
}

/// The result of one run of one case.
struct ConformanceVerdict: Sendable {
    var findings: [ConformanceFinding] = []
    /// The reason why the case does not apply, or `nil` if it applies.
    var skipped: String?
}

/// One run of one case. It creates the subject and tries the case on it. If the case does not end, it reports how far
/// the case got.
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
            record.change { if $0.problems.isEmpty { $0.addProblem("the case completes", "it was cancelled") } }
        } catch {
            record.change { $0.addProblem("the case can run", "an error while \($0.step): \(error)") }
        }
        return verdict
    }

    func end() async {
        await subject.value?.end()
    }

    /// Returns the verdict on a case that has not ended within the limit.
    func overdue(_ limit: Duration) -> ConformanceVerdict {
        record.change { $0.addProblem("the case ends", "it had not ended after \(limit), while \($0.summary)") }
        return verdict
    }

    private var verdict: ConformanceVerdict {
        let findings = record.value.problems.map { problem in
            ConformanceFinding(testCase: testCase, expected: problem.expected, seen: problem.seen)
        }
        return ConformanceVerdict(findings: findings)
    }

    /// Returns a source name that no other subject has, in this or in another run of the program.
    private static func makeSource(for testCase: AdapterConformance.Case) -> SourceName {
        let suffix = String(UInt64.random(in: .min ... .max), radix: 36)
        do {
            return try SourceName("\(testCase.rawValue)-\(suffix)")
        } catch {
            preconditionFailure("a case's name must be a valid source name: \(error)")
        }
    }
}
