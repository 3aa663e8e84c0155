/// The events of one run, and its errors.
struct SimulationRun: Sendable {
    let scenario: Scenario
    let registrations: [PluginScenario]
    let events: [SimulationEvent]
    /// Errors of the run itself, for example that it does not end.
    let errors: [String]

    /// The violations of all invariants, or the errors of the run itself.
    var findings: [Violation] {
        let errors = errors.map { Violation(invariant: "runEnds", at: events.count, text: $0) }
        // In an aborted run, most invariants fail only because it was aborted.
        guard errors.isEmpty else { return errors }
        let history = History(scenario, registrations: registrations, events: events)
        let findings = Invariant.all.flatMap { invariant in
            invariant.check(history).map { Violation(invariant: invariant.name, at: $0.at, text: $0.text) }
        }
        return findings.sorted { ($0.at, $0.description) < ($1.at, $1.description) }
    }
}

extension SimulationRun {
    /// The maximum number of events shown for a violation. The latest are shown.
    private static let shown = 40

    /// The readable log of the whole run.
    var text: String { "\(scenario)\n\n\(lines(Array(events.indices)))" }

    /// Returns the violations, the events that led to the first of them, and the command that replays the run.
    func text(of findings: [Violation]) -> String {
        let names = Set(findings.map(\.invariant))
        let broken = Invariant.all.filter { names.contains($0.name) }
        return text(
            of: findings,
            promises: broken.map { "  \($0.name): \($0.promise)" },
            replay: SimulationSeeds.replay(scenario.seed)
        )
    }

    /// - Parameters:
    ///   - promises: The names and promises of the violated invariants.
    ///   - replay: The command that replays the run.
    func text(of findings: [Violation], promises: [String], replay: String) -> String {
        let first = findings.min { $0.at < $1.at }
        let named = findings.prefix(8).map { "  \($0.at): \($0)" }.joined(separator: "\n")
        return """
            seed \(scenario.seed) violates:
            \(named)
            \(promises.joined(separator: "\n"))
            events up to the first violation:
            \(lines(first.map(history) ?? []))
            replay: \(replay)
            """
    }

    func lines(_ positions: [Int]) -> String {
        positions.map { "  \($0) \(events[$0])" }.joined(separator: "\n")
    }
}

// MARK: - The history of a finding

extension SimulationRun {
    /// Returns the events up to a violation that concern the whole run or the arrivals it names. If it names none,
    /// returns the latest events.
    private func history(of finding: Violation) -> [Int] {
        let end = min(finding.at + 1, events.count)
        let marks = Set(events[..<end].flatMap(\.subjects)).filter { finding.text.hasWord($0) }
        guard !marks.isEmpty else { return Array(max(0, end - SimulationRun.shown)..<end) }
        var calls: Set<Int> = []
        var kept: [Int] = []
        for position in 0..<end {
            let event = events[position]
            let isAbout = !marks.isDisjoint(with: event.subjects)
            if isAbout, case .callBegan(let call, _, _, _) = event { calls.insert(call) }
            if case .callEnded(let call, _) = event, calls.contains(call) { kept.append(position) }
            if case .tick = event, case .tick? = kept.last.map({ events[$0] }) { kept.removeLast() }
            if isAbout || event.concernsAll || position == finding.at { kept.append(position) }
        }
        return kept.suffix(SimulationRun.shown)
    }
}

extension SimulationEvent {
    /// The names of the arrivals that the event concerns, and of the messages, rows and letters in a simulation with a store.
    fileprivate var subjects: [String] {
        if case .journal(let event) = self { event.subjects } else { marks.map(\.description) }
    }

    /// The arrivals that the event concerns.
    private var marks: [ArrivalMark] {
        switch self {
        case .offers(_, _, let offered): offered.map(\.mark)
        case .callBegan(_, _, let marks, _): marks
        case .acknowledged(let mark), .settled(let mark, _), .observed(let mark, _, _, _), .delivers(_, let mark),
            .middlewareBegan(let mark, _, _), .middlewareEnded(let mark, _):
            [mark]
        default: []
        }
    }

    /// Whether the event is a tick or a change of the supervisor.
    fileprivate var concernsAll: Bool {
        switch self {
        case .journal(.began), .journal(.crashed), .journal(.closed): true
        case .tick, .registered, .removed, .added, .leaves, .left, .runBegan, .shutDown, .cancelled, .runEnded: true
        default: false
        }
    }
}

extension String {
    /// Returns whether the string contains the text without a further digit after it.
    fileprivate func hasWord(_ text: String) -> Bool {
        ranges(of: text).contains { range in
            range.upperBound == endIndex || !self[range.upperBound].isNumber
        }
    }
}

/// A violation of an invariant.
struct Violation: Sendable, CustomStringConvertible {
    let invariant: String
    /// The position in the log.
    let at: Int
    let text: String

    var description: String { "\(invariant): \(text)" }
}
