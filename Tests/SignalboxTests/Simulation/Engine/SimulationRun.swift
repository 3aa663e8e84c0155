/// What happened in one run, and what was wrong with it.
struct SimulationRun: Sendable {
    let scenario: Scenario
    let registrations: [PluginScenario]
    let events: [SimulationEvent]
    /// What was wrong with the run itself, such as that it does not end.
    let faults: [String]

    /// Every invariant that does not hold, in words.
    var findings: [Violation] {
        let faults = faults.map { Violation(invariant: "theRunEnds", at: events.count, text: $0) }
        // Of a run that was broken off the rest would only say that it was.
        guard faults.isEmpty else { return faults }
        let ledger = Ledger(scenario, registrations: registrations, events: events)
        return Invariant.all.flatMap { invariant in
            invariant.check(ledger).map { Violation(invariant: invariant.name, at: $0.at, text: $0.text) }
        }
    }
}

// MARK: - For people

extension SimulationRun {
    /// How many events before the one where something was found are shown.
    private static let shown = 30

    /// The whole run, to be read.
    var text: String { "\(scenario)\n\n\(lines(0..<events.count))" }

    /// What was found, the events before it, and how to see it again.
    func text(of findings: [Violation]) -> String {
        let first = findings.map(\.at).min() ?? 0
        let end = min(first + 1, events.count)
        return """
            seed \(scenario.seed) breaks:
            \(findings.prefix(8).map { "  \($0.at): \($0)" }.joined(separator: "\n"))
            events before the first:
            \(lines(max(0, end - SimulationRun.shown)..<end))
            replay: \(SimulationSeeds.replay(scenario.seed))
            """
    }

    private func lines(_ range: Range<Int>) -> String {
        range.map { "  \($0) \(events[$0])" }.joined(separator: "\n")
    }
}
