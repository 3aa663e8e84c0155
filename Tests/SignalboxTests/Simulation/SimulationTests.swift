import Testing

/// The supervisor under thousands of small random scenarios, each repeatable by its seed: see docs/testing.md.
@Suite struct SimulationTests {
    @Test(.timeLimit(.minutes(15))) func everyInvariantHoldsForEverySeed() async {
        let seeds = SimulationSeeds.fromEnvironment
        let sweep = SimulationSweep()
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
