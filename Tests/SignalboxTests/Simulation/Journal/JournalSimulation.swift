import Signalbox
import SignalboxCore
import SignalboxTesting

/// Several runs with one store, which are a pure function of the scenario and its seed.
enum JournalSimulation {
    /// The maximum number of runs. A scenario that exceeds it does not end.
    private static let runBound = 24

    static func run(_ scenario: JournalScenario) -> JournalRun {
        let disk = SimulatedDisk()
        var events: [SimulationEvent] = []
        var feeds = scenario.base.sources.map(\.feeds)
        var time = Duration.zero
        var earlier: Simulation?
        for number in 0..<runBound {
            let isLast = number >= scenario.runs.count - 1
            let plan = isLast ? scenario.runs[scenario.runs.count - 1] : scenario.runs[number]
            var run = scenario.base
            for source in run.sources.indices { run.sources[source].feeds = feeds[source] }
            run.plan(plan, of: scenario, number: number, startsAt: time, isLast: isLast)
            let simulation = Simulation(run, after: earlier, disk: disk)
            let errors = simulation.runToEnd()
            let hasDied = simulation.world.isDead
            events += simulation.world.events
            feeds = simulation.feeders.map { $0.left(losesAcknowledgement: hasDied && plan.losesAcknowledgements) }
            time += simulation.world.clock.now.offset
            if hasDied { simulation.discard() }
            guard errors.isEmpty else { return JournalRun(scenario, simulation, events, errors) }
            if isLast, !hasDied {
                events.append(.journal(left(on: disk, simulation.world)))
                return JournalRun(scenario, simulation, events, [])
            }
            earlier = simulation
        }
        return JournalRun(scenario, earlier, events, ["the process dies in each of \(runBound) runs"])
    }

    private static func left(on disk: SimulatedDisk, _ world: SimulationWorld) -> JournalEvent {
        let tables = disk.tables
        return .left(
            rows: tables.rows.map { world.message(in: $0.message.original) },
            letters: tables.letters.map { world.message(in: $0.message.original) }
        )
    }
}

extension Scenario {
    fileprivate mutating func plan(
        _ plan: JournalRunPlan,
        of scenario: JournalScenario,
        number: Int,
        startsAt: Duration,
        isLast: Bool
    ) {
        seed = scenario.seed &+ UInt64(number) << 32
        (ending, opensAt) = (plan.ending, plan.opensAt)
        if isLast { latestEnd = 1_500 }
        journal = JournalRunScenario(
            number: number,
            startsAt: startsAt,
            crash: plan.crash,
            replaysAt: plan.replaysAt,
            isLast: isLast,
            faults: scenario.faults
        )
    }
}

/// The events of all runs of a scenario, and its errors.
struct JournalRun: Sendable {
    let scenario: JournalScenario
    let registrations: [PluginScenario]
    let events: [SimulationEvent]
    let errors: [String]

    fileprivate init(
        _ scenario: JournalScenario,
        _ last: Simulation?,
        _ events: [SimulationEvent],
        _ errors: [String]
    ) {
        self.scenario = scenario
        registrations = last?.world.registrations ?? []
        self.events = events
        self.errors = errors
    }

    /// The violations of all invariants, or the errors of the run itself.
    var findings: [Violation] {
        guard errors.isEmpty else {
            return errors.map { Violation(invariant: "runEnds", at: events.count, text: $0) }
        }
        let history = JournalHistory(scenario, registrations: registrations, events: events)
        let findings = JournalInvariant.all.flatMap { invariant in
            invariant.check(history).map { Violation(invariant: invariant.name, at: $0.at, text: $0.text) }
        }
        return findings.sorted { ($0.at, $0.description) < ($1.at, $1.description) }
    }

    /// The log, with which a replay is read.
    var log: SimulationRun {
        SimulationRun(scenario: scenario.base, registrations: registrations, events: events, errors: errors)
    }

    /// The readable log of all runs.
    var text: String { "\(scenario)\n\n\(log.lines(Array(events.indices)))" }

    func text(of findings: [Violation]) -> String {
        let names = Set(findings.map(\.invariant))
        let broken = JournalInvariant.all.filter { names.contains($0.name) }
        return log.text(
            of: findings,
            promises: broken.map { "  \($0.name): \($0.promise)" },
            replay: SimulationSeeds.replay(scenario.seed, "JournalSweepTests")
        )
    }
}
