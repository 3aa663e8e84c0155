import Synchronization

/// A run of many seeds that collects the failures.
final class SimulationSweep: Sendable {
    struct State: Sendable {
        var seed: UInt64 = 0
        var events = 0
        var failures: [String] = []
        /// The digest of the logs of the seeds that were run twice. It is the same in every process.
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325

        /// Adds the text to the digest by FNV-1a (Fowler, Noll, Vo).
        mutating func digest(_ text: String) {
            for byte in text.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
    }

    /// The number of failures that ends the sweep. Further failures rarely differ in kind.
    private static let mostFailures = 5
    /// The interval of the seeds that are run twice, to check that a run is a function of its seed.
    private static let repeatedOneOf: UInt64 = 50

    private let progress = Mutex(State())
    /// Runs the scenario of a seed.
    private let check: @Sendable (UInt64) -> SweptRun

    init(_ check: @escaping @Sendable (UInt64) -> SweptRun) { self.check = check }

    var state: State { progress.withLock { $0 } }

    func run(_ seeds: SimulationSeeds) {
        for seed in seeds.all {
            progress.withLock { $0.seed = seed }
            let run = check(seed)
            if seeds.isReplay { print(run.text()) }
            var findings = run.findings
            if seeds.isReplay || seed % SimulationSweep.repeatedOneOf == 0 { findings += differences(run, seed) }
            let isFull = progress.withLock { state in
                state.events += run.events.count
                if !findings.isEmpty { state.failures.append(run.report(findings)) }
                return state.failures.count >= SimulationSweep.mostFailures
            }
            if isFull { return }
        }
    }

    private func differences(_ run: SweptRun, _ seed: UInt64) -> [Violation] {
        let again = check(seed).events
        let text = run.text()
        progress.withLock { $0.digest(text) }
        guard again != run.events else { return [] }
        let position =
            zip(run.events, again).enumerated().first { $1.0 != $1.1 }?.offset ?? min(run.events.count, again.count)
        return [
            Violation(
                invariant: "runIsReproducible",
                at: position,
                text: "a second run differs from event \(position)"
            )
        ]
    }
}

/// The run of one seed.
struct SweptRun {
    let events: [SimulationEvent]
    let findings: [Violation]
    /// Returns the log.
    let text: () -> String
    /// Returns the report of violations.
    let report: ([Violation]) -> String
}
