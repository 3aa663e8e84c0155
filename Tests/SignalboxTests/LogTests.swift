import Testing

@testable import Signalbox

@Suite struct LogTests {
    @Test func controlCharactersCannotBreakALine() {
        let hostile = "a\nb\r\u{1b}[31m\u{85}\u{2028}\u{202e}é日本"
        #expect(LogText.escaped(hostile) == #"a\u{a}b\u{d}\u{1b}[31m\u{85}\u{2028}\u{202e}é日本"#)
        #expect(LogText.escaped("plain text") == "plain text")
    }

    @Test func aBudgetWithholdsWhatIsOverAndTellsHowMany() {
        var budget = LineBudget(linesPerSecond: 2)
        #expect(budget.ask(inSecond: 1) == .write(withheldBefore: 0))
        #expect(budget.ask(inSecond: 1) == .write(withheldBefore: 0))
        #expect(budget.ask(inSecond: 1) == .withhold)
        #expect(budget.ask(inSecond: 1) == .withhold)
        #expect(budget.ask(inSecond: 2) == .write(withheldBefore: 2))
        #expect(budget.takeWithheld() == 0)
    }
}
