import Testing

/// Each invariant can fail: the log of a run in which all of them hold is spoiled, and the one meant finds it.
@Suite struct InvariantTests {
    @Test func aRunThatIsNotSpoiledKeepsThemAll() {
        let run = SpoiledRun()
        for invariant in Invariant.all { #expect(run.faults(of: invariant).map(\.text) == [], "\(invariant.name)") }
    }

    @Test func eachHasAWayToBreakItAndANameOfItsOwn() {
        #expect(Set(Spoiling.all.map(\.invariant)) == Set(Invariant.all.map(\.name)))
        #expect(Set(Invariant.all.map(\.name)).count == Invariant.all.count)
    }

    @Test(arguments: Spoiling.all) func whatIsSpoiledIsFound(_ spoiling: Spoiling) throws {
        var run = SpoiledRun()
        spoiling.spoil(&run)
        let invariant = try #require(Invariant.all.first { $0.name == spoiling.invariant })
        #expect(!run.faults(of: invariant).isEmpty)
    }
}
