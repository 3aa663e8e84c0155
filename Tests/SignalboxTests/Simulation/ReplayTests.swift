import Testing

/// What makes a failure worth having: it can be seen again, and read.
@Suite struct ReplayTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func theSameSeedHasTheSameLogToTheByte(seed: UInt64) {
        let runs = (1...2).map { _ in Simulation.run(ScenarioGenerator.scenario(seed: seed)).text }
        #expect(Array(runs[0].utf8) == Array(runs[1].utf8))
    }

    @Test func otherSeedsHaveOtherLogs() {
        let texts = (1...20 as ClosedRange<UInt64>).map { Simulation.run(ScenarioGenerator.scenario(seed: $0)).text }
        #expect(Set(texts).count == 20)
    }

    @Test func aFailureTellsTheSeedTheInvariantAndHowToSeeItAgain() {
        let run = Simulation.run(ScenarioGenerator.scenario(seed: 7))
        let text = run.text(of: [Violation(invariant: "orderIsKept", at: 40, text: "s0:2 was called before s0:1")])
        #expect(text.contains("seed 7 breaks:\n  40: orderIsKept: s0:2 was called before s0:1"))
        #expect(text.contains("orderIsKept: Calls of a source, or of a key, begin in the order"))
        #expect(text.contains("\n  40 \(run.events[40])\nreplay: "))
        #expect(text.hasSuffix("replay: SIGNALBOX_SEED=7 swift test --disable-xctest --filter SimulationTests"))
        #expect(text.split(separator: "\n").count < 60)
    }
}
