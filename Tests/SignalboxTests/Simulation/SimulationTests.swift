import Foundation
import SignalboxTesting
import Synchronization
import Testing

/// Runs the supervisor under thousands of small random scenarios, each reproducible from its seed. See docs/simulation.md.
@Suite struct SimulationTests {
    @Test(.timeLimit(.minutes(15))) func everyInvariantHoldsForEverySeed() async {
        let seeds = SimulationSeeds.fromEnvironment()
        let sweep = SimulationSweep { seed in
            let run = Simulation.run(ScenarioGenerator.scenario(seed: seed))
            return SweptRun(
                events: run.events,
                findings: run.findings,
                text: { run.text },
                report: { run.text(of: $0) }
            )
        }
        let isDone = await SimulationThread.run {
            sweep.run(seeds)
            return true
        }
        let state = sweep.state
        for failure in state.failures { Issue.record("\(failure)") }
        #expect(isDone == true, "seed \(state.seed) is blocked; replay: \(SimulationSeeds.replay(state.seed))")
        let digest = String(state.digest, radix: 16)
        print("simulation: \(seeds.all.count) seeds, \(state.events) events, digest \(digest)")
    }
}

/// A failure can be reproduced, and its report is readable.
@Suite struct ReplayTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func theSameSeedProducesAnIdenticalLog(seed: UInt64) {
        let runs = (1...2).map { _ in Simulation.run(ScenarioGenerator.scenario(seed: seed)).text }
        #expect(Array(runs[0].utf8) == Array(runs[1].utf8))
    }

    @Test func differentSeedsProduceDifferentLogs() {
        let texts = (1...20 as ClosedRange<UInt64>).map { Simulation.run(ScenarioGenerator.scenario(seed: $0)).text }
        #expect(Set(texts).count == 20)
    }

    @Test func aFailureReportsTheSeedInvariantAndReplayCommand() {
        let run = Simulation.run(ScenarioGenerator.scenario(seed: 7))
        let text = run.text(of: [Violation(invariant: "orderIsPreserved", at: 40, text: "s0:2 was called before s0:1")])
        #expect(text.contains("seed 7 violates:\n  40: orderIsPreserved: s0:2 was called before s0:1"))
        #expect(text.contains("orderIsPreserved: Calls of a source or key begin in the order"))
        #expect(text.contains("\n  40 \(run.events[40])\nreplay: "))
        #expect(text.hasSuffix("replay: SIGNALBOX_SEED=7 swift test --disable-xctest --filter SimulationTests"))
        #expect(text.split(separator: "\n").count < 60)
    }
}

/// The seeds to run, from the environment.
struct SimulationSeeds: Sendable {
    let all: [UInt64]
    /// Whether the environment selects a single seed.
    let isReplay: Bool

    static let count: UInt64 = 3_000
    /// `SIGNALBOX_SEED=n` is one seed, `SIGNALBOX_SEEDS=n` the first n seeds, `SIGNALBOX_SEEDS=a-b` those from a to b.
    ///
    /// - Parameter count: The number of seeds if the environment selects none.
    static func fromEnvironment(otherwise count: UInt64 = count) -> SimulationSeeds {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SIGNALBOX_SEED"].flatMap(UInt64.init) {
            return SimulationSeeds(all: [seed], isReplay: true)
        }
        let ends = (environment["SIGNALBOX_SEEDS"] ?? "").split(separator: "-").compactMap { UInt64($0) }
        guard let last = ends.last, last > 0 else { return SimulationSeeds(all: Array(1...count), isReplay: false) }
        let first = ends.count == 2 ? ends[0] : 1
        return SimulationSeeds(all: Array(min(first, last)...last), isReplay: false)
    }

    /// Returns the command that replays a seed.
    static func replay(_ seed: UInt64, _ suite: String = "SimulationTests") -> String {
        "SIGNALBOX_SEED=\(seed) swift test --disable-xctest --filter \(suite)"
    }
}

/// A thread for long work, so that other tests keep the thread pool.
enum SimulationThread {
    /// Returns the result of the work, or `nil` if the test is cancelled first, for example by its time limit.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value? {
        let result = Watched<Value?>(nil)
        let thread = Thread { result.change { [value = work()] in $0 = value } }
        thread.start()
        await result.until { $0 != nil }
        return result.value
    }
}
