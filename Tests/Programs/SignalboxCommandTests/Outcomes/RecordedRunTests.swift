import Testing

@testable import SignalboxCommand

@Suite struct RecordedRunTests {
    private static func run(_ recorded: String, _ lines: [String]) -> RecordedRun {
        var summary = OutcomeSummary(recorded: RecordedRun(Array(recorded.utf8)))
        for line in lines { summary.compare(ArraySlice(line.utf8)) }
        return summary.comparison ?? RecordedRun([])
    }

    @Test(arguments: ["a\nb\n", "a\nb"]) func equalLinesAreNoDifference(_ recorded: String) {
        #expect(RecordedRunTests.run(recorded, ["a", "b"]).differences == 0)
    }

    @Test func aDifferenceSaysTheLineWhatWasExpectedAndWhatCame() {
        let run = RecordedRunTests.run("a\nb\nc\n", ["a", "x", "c"])
        #expect(run.differences == 1)
        #expect(run.shown.flatMap(\.lines) == ["line 2: expected b", "line 2: got      x"])
    }

    @Test func linesTooManyAndLinesTooFewAreDifferences() {
        #expect(
            RecordedRunTests.run("a\n", ["a", "b"]).shown.flatMap(\.lines)
                == ["line 2: expected no line", "line 2: got      b"]
        )
        #expect(
            RecordedRunTests.run("a\nb\n", ["a"]).shown.flatMap(\.lines)
                == ["line 2: expected b", "line 2: got      no line"]
        )
        #expect(RecordedRunTests.run("", ["a"]).differences == 1)
        #expect(RecordedRunTests.run("\n", [""]).differences == 0)
    }

    @Test func theFirstTenAreShownAndAllAreCounted() {
        let run = RecordedRunTests.run("", (1...25).map(String.init))
        #expect(run.differences == 25)
        #expect(run.shown.map(\.line) == Array(1...10))
    }
}
