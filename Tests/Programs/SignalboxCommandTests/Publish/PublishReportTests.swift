import Testing

@testable import SignalboxCommand

@Suite struct PublishReportTests {
    @Test func whatWasReadIsCountedWhateverBecameOfIt() {
        let lines = LineCounts(taken: 0, refused: 2, empty: 1, isComplete: false)
        let report = PublishReport(topic: "a", lines: lines, published: 5, failed: 1)
        #expect(
            report.words == ["to \"a\": published 5, not published 3, empty lines 1; stdin was not read to its end"]
        )
        #expect(report.status == .notAsExpected)
    }

    @Test func stdinThatCannotBeReadHasItsOwnStatus() {
        let report = PublishReport(topic: "a", lines: LineCounts(fault: "broken"))
        #expect(report.words.first == "broken")
        #expect(report.status == .unreadableFile)
    }

    @Test func allThatWasReadIsPublished() {
        let report = PublishReport(topic: "a", lines: LineCounts(isComplete: true))
        #expect(report.words == ["to \"a\": published 0, not published 0"])
        #expect(report.status == .done)
    }

    @Test func whatTheBrokerDeniedDecidesTheStatus() {
        let lines = LineCounts(isComplete: true)
        let report = PublishReport(topic: "a", lines: lines, published: 1, failed: 2, denied: 2)
        #expect(report.words.first?.hasPrefix("the broker denied 2 messages to \"a\": ") == true)
        #expect(report.status == .refused)
        #expect(PublishReport(topic: "a", lines: lines, failed: 1).status == .notAsExpected)
    }

    @Test func aRateIsOfTheTimeThatReallyPassed() {
        #expect(RateNotes.line(new: 300, within: .milliseconds(1_500), all: 900) == "200 messages/s, 900 in all")
        #expect(RateNotes.line(new: 0, within: .zero, all: 0) == "0 messages/s, 0 in all")
    }
}
