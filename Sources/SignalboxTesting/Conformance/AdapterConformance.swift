public import SignalboxCore

/// A test suite that every adapter must pass. The suite runs the adapter in a real supervisor, sends messages from the
/// adapter's remote end, and reports violations of the adapter contract.
///
/// Each ``Case`` tests one behaviour. In addition, every case puts an intake between the adapter and the supervisor,
/// and checks these rules:
///
/// - Each arrival that the intake takes is settled exactly once, and no abandoned arrival is acknowledged.
/// - Unsettled arrivals have different tokens, and their origins name the adapter's source.
/// - Arrivals have a sender if and only if the adapter's features contain `pushes`.
/// - Batches stay within the stated bound. When a submit is cut short, the adapter waits for room.
/// - A run returns only after all its arrivals have been settled or acknowledged, and submits nothing afterwards.
///
/// The supervisor runs on a manual clock, so the findings do not depend on the speed of the machine. You can use the
/// suite with any test framework:
///
/// ```swift
/// let suite = AdapterConformance { source in try await ChatSubject(source) }
/// let report = await suite.run()
/// #expect(report.isConforming, "\(report)")
/// ```
public struct AdapterConformance: Sendable {
    private let limit: Duration
    private let make: @Sendable (SourceName) async throws -> any ConformanceSubject

    /// Creates a suite that tests the adapter of each subject returned by `make`.
    ///
    /// - Parameters:
    ///   - limit: The maximum real time for one case, as a safeguard against an adapter that hangs. The default is 300
    ///     s. If a case reaches the limit, the suite reports this as a finding and cancels the case's work, but does
    ///     not wait for that work to finish.
    ///   - make: A closure that creates a subject for a source, which is called once per case.
    ///     ``stress(_:times:atOnce:)`` calls the closure once per run of a case, from several tasks concurrently. Every
    ///     source name is unique, both within one run of the program and across runs.
    public init(
        limit: Duration = .seconds(300),
        make: @escaping @Sendable (SourceName) async throws -> any ConformanceSubject
    ) {
        self.limit = limit
        self.make = make
    }

    /// Runs the cases one after the other. By default, all cases are run.
    public func run(_ cases: [Case] = Case.allCases) async -> ConformanceReport {
        await perform(cases, atOnce: 1)
    }

    /// Runs each case repeatedly, with several runs in parallel and a separate subject for each run. Use this method to
    /// find faults that depend on timing.
    ///
    /// - Parameters:
    ///   - cases: The cases to run. The default is all cases.
    ///   - times: How many times to run each case, at least 1. The default is 20.
    ///   - atOnce: The maximum number of runs in parallel, at least 1. The default is 20.
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
        // If the subject hangs, ending it may hang too.
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
    /// The cases in the suite. A conforming adapter passes every case that applies to its features. Later versions may
    /// add cases.
    public enum Case: String, CaseIterable, Sendable, Hashable, CustomStringConvertible {
        /// Every message of up to 60 KB reaches its plugin once and complete, and is not redelivered in the next run.
        case deliverAll
        /// Plugins receive the messages from a source in the order in which they were sent, even if the window is
        /// small.
        case orderPerSource
        /// Many runs are cancelled before, while and after they start, some of them twice. Every message is still
        /// delivered.
        case concurrentStartAndStop
        /// If the adapter's own thread calls the plugin, every message is settled before `submit` returns. Each message
        /// still reaches the plugin once, in order, and is answered.
        case settledInsideSubmit
        /// If a plugin throws an error, only that plugin's arrivals fail.
        case throwingPlugin
        /// An action without a plugin is rejected, and the messages around it are handled.
        case unknownAction
        /// A message that is not an action becomes a rejected arrival, whose original bytes contain the message's id.
        /// The messages around it are handled.
        case malformedArrival
        /// A plugin that does not allow the source is never called.
        case forbiddenSource
        /// Every message is answered with its outcome. This case requires the feature `replies`.
        case answersEverySender
        /// The adapter waits for room when the window is full. Afterwards, all messages arrive in order.
        case windowFullThenDrained
        /// A graceful stop settles every arrival that was taken before the run returns. A message that was not taken is
        /// redelivered, or its sender is notified.
        case drainOnStop
        /// Stopping twice has the same effect as stopping once, and the adapter can run again afterwards.
        case stopIsIdempotent
        /// If a plugin never returns, its call fails with a timeout and other plugins continue.
        case hungPlugin
        /// An abandoned message is never acknowledged. Instead, it is redelivered or its sender is notified.
        case abandonedIsNotAcknowledged
        /// While a plugin is slow, the number of arrivals that are unsettled or offered never exceeds the window plus
        /// one batch.
        case memoryBoundedUnderSlowPlugin
        /// A message that is sent again while its plugin is running reaches the plugin once and receives its outcome
        /// twice. This case requires a subject that submits while one of its messages is running.
        case duplicateWhileRunning
        /// A message that is sent again after it was handled is acknowledged and answered as before, without a call of
        /// the plugin.
        case duplicateAfterHandled
        /// A message that is sent again after it failed reaches its plugin again.
        case duplicateAfterFailed

        /// The name of the case.
        public var description: String { rawValue }

        /// Returns the reason why the case does not apply to the subject, or `nil` if the case applies.
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

/// The result of running the conformance suite.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    /// The cases that ran without findings.
    public internal(set) var passed: [AdapterConformance.Case] = []
    /// The cases that do not apply to the subject or to its adapter's features, with the reasons.
    public internal(set) var skipped: [AdapterConformance.Case: String] = [:]
    /// The findings, in the order of the cases. The list is empty if the adapter conforms.
    public internal(set) var findings: [ConformanceFinding] = []

    /// Whether there are no findings.
    public var isConforming: Bool { findings.isEmpty }

    /// A line with the counts, followed by one line for each skipped case and one for each finding.
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
    /// The behaviour that was expected.
    public let expected: String
    /// The behaviour that was observed.
    public let seen: String

    /// The case, the expected behaviour and the observed behaviour, in one line.
    public var description: String { "\(testCase): expected: \(expected); seen: \(seen)" }
}

/// The result of running one case once.
struct ConformanceVerdict: Sendable {
    var findings: [ConformanceFinding] = []
    /// The reason why the case does not apply, or `nil` if it applies.
    var skipped: String?
}

/// Runs one case once, on a subject that is created for the run. If the case does not end, the examination reports how
/// far the case got.
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

    /// Returns the verdict for a case that has not ended within the limit.
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

    /// Returns a source name that no other subject has, neither in this run of the program nor in another.
    private static func makeSource(for testCase: AdapterConformance.Case) -> SourceName {
        let suffix = String(UInt64.random(in: .min ... .max), radix: 36)
        do {
            return try SourceName("\(testCase.rawValue)-\(suffix)")
        } catch {
            preconditionFailure("a case's name must be a valid source name: \(error)")
        }
    }
}
