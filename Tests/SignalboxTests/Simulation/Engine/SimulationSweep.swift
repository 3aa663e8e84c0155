import Synchronization

/// Runs many seeds and keeps what went wrong.
final class SimulationSweep: Sendable {
    struct State: Sendable {
        var seed: UInt64 = 0
        var events = 0
        var failures: [String] = []
        /// Of the logs of the seeds that were run twice: the same in every process.
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325

        /// FNV-1a (Fowler, Noll, Vo).
        mutating func digest(_ text: String) {
            for byte in text.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
    }

    /// Further failures are hardly of another kind.
    private static let mostFailures = 5
    /// One of so many seeds is run twice, to see that a run is a function of its seed.
    private static let repeatedOneOf: UInt64 = 50

    private let progress = Mutex(State())

    var state: State { progress.withLock { $0 } }

    func run(_ seeds: SimulationSeeds) {
        for seed in seeds.all {
            progress.withLock { $0.seed = seed }
            let run = Simulation.run(ScenarioGenerator.scenario(seed: seed))
            if seeds.isReplay { print(run.text) }
            var findings = run.findings
            if seeds.isReplay || seed % SimulationSweep.repeatedOneOf == 0 { findings += differences(run) }
            let isFull = progress.withLock { state in
                state.events += run.events.count
                if !findings.isEmpty { state.failures.append(run.text(of: findings)) }
                return state.failures.count >= SimulationSweep.mostFailures
            }
            if isFull { return }
        }
    }

    private func differences(_ run: SimulationRun) -> [Violation] {
        let again = Simulation.run(run.scenario).events
        let text = run.text
        progress.withLock { $0.digest(text) }
        guard again != run.events else { return [] }
        let position =
            zip(run.events, again).enumerated().first { $1.0 != $1.1 }?.offset ?? min(run.events.count, again.count)
        return [
            Violation(
                invariant: "sameSeedSameRun",
                at: position,
                text: "a second run differs from event \(position) on"
            )
        ]
    }
}
