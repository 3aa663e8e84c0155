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
