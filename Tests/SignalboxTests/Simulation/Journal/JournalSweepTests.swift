import SignalboxTesting
import Synchronization
import Testing

/// Runs the supervisor with a store that loses what is not synced when the process dies, for thousands of seeds. See
/// docs/simulation.md.
@Suite struct JournalSweepTests {
    @Test(.timeLimit(.minutes(15))) func nothingIsLostForAnySeed() async {
        let seeds = SimulationSeeds.fromEnvironment(otherwise: 1_200)
        let sweep = SimulationSweep(JournalSweepTests.check)
        let isDone = await SimulationThread.run {
            sweep.run(seeds)
            return true
        }
        let state = sweep.state
        for failure in state.failures { Issue.record("\(failure)") }
        let replay = SimulationSeeds.replay(state.seed, "JournalSweepTests")
        #expect(isDone == true, "seed \(state.seed) is blocked; replay: \(replay)")
        let digest = String(state.digest, radix: 16)
        print("simulation with a store: \(seeds.all.count) seeds, \(state.events) events, digest \(digest)")
    }

    private static func check(_ seed: UInt64) -> SweptRun {
        let run = JournalSimulation.run(JournalGenerator.scenario(seed: seed))
        return SweptRun(events: run.events, findings: run.findings, text: { run.text }, report: { run.text(of: $0) })
    }
}

/// A failure can be reproduced and read, and a store that breaks its promise is detected.
@Suite struct JournalReplayTests {
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func theSameSeedProducesAnIdenticalLog(seed: UInt64) {
        let runs = (1...2).map { _ in JournalSimulation.run(JournalGenerator.scenario(seed: seed)).text }
        #expect(Array(runs[0].utf8) == Array(runs[1].utf8))
    }

    @Test func aFailureReportsTheSeedTheMessageAndTheReplayCommand() {
        let run = JournalSimulation.run(JournalGenerator.scenario(seed: 7))
        let text = run.text(of: [Violation(invariant: "acknowledgedIsNotLost", at: 60, text: "m1 is lost")])
        #expect(text.contains("seed 7 violates:\n  60: acknowledgedIsNotLost: m1 is lost"))
        #expect(text.contains("acknowledgedIsNotLost: In the end, each acknowledged message"))
        #expect(text.hasSuffix("replay: SIGNALBOX_SEED=7 swift test --disable-xctest --filter JournalSweepTests"))
    }

    @Test func aStoreThatLosesWhatItHasConfirmedIsDetected() {
        let broken = (1...20 as ClosedRange<UInt64>).flatMap { seed -> [String] in
            var scenario = JournalGenerator.scenario(seed: seed)
            scenario.faults.losesAppended = true
            return JournalSimulation.run(scenario).findings.map(\.invariant)
        }
        #expect(broken.contains("acknowledgedIsNotLost"))
    }
}
