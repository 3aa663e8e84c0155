public import SignalboxCore

/// The suite that every adapter passes: it runs the adapter in a real supervisor, lets its far side send, and reports
/// what is against the contract.
///
/// Between adapter and supervisor stands an intake that watches: each arrival taken is settled exactly once, nothing
/// abandoned is acknowledged, tokens of unsettled arrivals differ, batches keep to the stated bound, after a submit that
/// took less than all the adapter waits for room, a run returns only when it has heard of all it submitted, and submits
/// nothing afterwards, origins name the adapter's source, and there is a sender exactly where the features say so. Each
/// case looks at that besides its own question.
///
/// The supervisor's clock is moved by hand, so no finding depends on the speed of the machine. It uses no test framework:
///
/// ```swift
/// let suite = AdapterConformance { source in try await ChatSubject(source) }
/// let report = await suite.run()
/// #expect(report.isConforming, "\(report)")
/// ```
public struct AdapterConformance: Sendable {
    private let limit: Duration
    private let make: @Sendable (SourceName) async throws -> any ConformanceSubject

    /// - Parameters:
    ///   - limit: how long one case may take in real time, 300 s by default. It only guards against an adapter that hangs;
    ///     a case that reaches it is a finding, and what the adapter still runs is left behind.
    ///   - make: makes a subject for a source; called for each case, in the stress form at the same time from several
    ///     tasks. Source names differ, within the program's run and between runs.
    public init(
        limit: Duration = .seconds(300),
        make: @escaping @Sendable (SourceName) async throws -> any ConformanceSubject
    ) {
        self.limit = limit
        self.make = make
    }

    /// Runs the cases one after the other; all by default.
    public func run(_ cases: [Case] = Case.allCases) async -> ConformanceReport {
        await perform(cases, atOnce: 1)
    }

    /// Runs each case many times, several at once, each with a subject of its own.
    ///
    /// - Parameters:
    ///   - cases: all by default.
    ///   - times: how often each case runs, at least 1; 20 by default.
    ///   - atOnce: how many run at the same time, at least 1; 20 by default.
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
        // A subject that is left behind may not end either.
        await TimeLimit.within(limit) {
            await examination.end()
        } late: {
        }
        return verdict
    }
}

extension ConformanceReport {
    /// Sums up what was found, in the order of the cases; a case passed when each of its repetitions did.
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
    /// The cases of the suite. More may be added; an adapter that conforms passes each that applies to its features.
    public enum Case: String, CaseIterable, Sendable, Hashable, CustomStringConvertible {
        /// Every message, of up to 60 KB, reaches its plugin once, whole, and nothing comes again in the next run.
        case deliverAll
        /// Plugins see the messages of a source in the order in which they were sent, under a small window too.
        case orderPerSource
        /// A run is cancelled before it starts, while it starts, twice and after its end, many times; everything sent is
        /// still delivered.
        case concurrentStartAndStop
        /// A plugin that throws fails its own arrivals and no others.
        case throwingPlugin
        /// An action without a plugin is rejected, and the messages around it are handled.
        case unknownAction
        /// A message that is no action becomes a rejected arrival whose original bytes contain its id, and the messages
        /// around it are handled.
        case malformedArrival
        /// A plugin that does not allow the source is never called.
        case forbiddenSource
        /// Every message is answered with its own outcome. Needs `replies`.
        case answersEverySender
        /// When the window is full the adapter waits for room; then all messages come, in order.
        case windowFullThenDrained
        /// On a graceful stop what has begun is finished and told, and only then the run returns; what was not taken comes
        /// again, or its sender is told.
        case drainOnStop
        /// Stopping twice is stopping once, and a run can follow a run.
        case stopIsIdempotent
        /// A plugin that never returns fails its own call with a timeout; other plugins go on.
        case hungPlugin
        /// What is abandoned is never acknowledged: it comes again, or its sender is told.
        case abandonedIsNotAcknowledged
        /// With a slow plugin no more arrivals are inside or offered than the window and one batch.
        case memoryBoundedUnderSlowPlugin
        /// A message that is sent again while it is running reaches its plugin once and has its outcome twice. Needs a subject
        /// that submits while one of its messages runs.
        case repeatWhileRunning
        /// A message that is sent again after it was handled is acknowledged and answered as before, without a call.
        case repeatAfterHandled
        /// A message that is sent again after it failed reaches its plugin again.
        case repeatAfterFailed

        /// The case's name.
        public var description: String { rawValue }

        /// Why the case does not apply to an adapter, or `nil` when it does.
        func inapplicable(to subject: any ConformanceSubject) -> String? {
            switch self {
            case .answersEverySender:
                subject.adapter.features.contains(.replies) ? nil : "the adapter answers nobody"
            case .repeatWhileRunning:
                subject.submitsWhileOneRuns ? nil : "the adapter submits nothing while one of its messages runs"
            default: nil
            }
        }
    }
}

/// What the conformance suite says about an adapter.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    /// The cases that ran and found nothing.
    public internal(set) var passed: [AdapterConformance.Case] = []
    /// The cases that do not apply to the subject or its adapter's features, and why.
    public internal(set) var skipped: [AdapterConformance.Case: String] = [:]
    /// What was found, in the order of the cases; empty when the adapter conforms.
    public internal(set) var findings: [ConformanceFinding] = []

    /// Whether nothing was found.
    public var isConforming: Bool { findings.isEmpty }

    /// One line per finding, after a line with the counts.
    public var description: String {
        let skips = skipped.map { "\($0.key) skipped: \($0.value)" }.sorted()
        let head = "\(passed.count) cases passed, \(skipped.count) skipped, \(findings.count) findings"
        return ([head] + skips + findings.map(\.description)).joined(separator: "\n")
    }
}

/// Something that an adapter, or what surrounds it, did otherwise than the contract says.
public struct ConformanceFinding: Sendable, Hashable, CustomStringConvertible {
    /// The case that found it.
    public let testCase: AdapterConformance.Case
    /// What should have been.
    public let expected: String
    /// What was.
    public let seen: String

    /// One line: the case, what was expected, what was seen.
    public var description: String { "\(testCase): expected \(expected); saw \(seen)" }
}

/// What one run of one case came to.
struct ConformanceVerdict: Sendable {
    var findings: [ConformanceFinding] = []
    /// Why the case does not apply, when it does not.
    var skipped: String?
}

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
