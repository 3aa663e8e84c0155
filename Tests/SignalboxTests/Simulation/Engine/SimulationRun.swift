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
        let findings = Invariant.all.flatMap { invariant in
            invariant.check(ledger).map { Violation(invariant: invariant.name, at: $0.at, text: $0.text) }
        }
        return findings.sorted { ($0.at, $0.description) < ($1.at, $1.description) }
    }
}
