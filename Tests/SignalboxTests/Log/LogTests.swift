import Testing

@testable import Signalbox

@Suite struct LogTests {
    @Test func controlCharactersCannotBreakALine() {
        let hostile = "a\nb\r\u{1b}[31m\u{85}\u{2028}\u{202e}\u{61c}\u{feff}é日本"
        #expect(LogText.escaped(hostile) == #"a\u{a}b\u{d}\u{1b}[31m\u{85}\u{2028}\u{202e}\u{61c}\u{feff}é日本"#)
        #expect(LogText.escaped("plain text") == "plain text")
    }

    @Test func whatIsShownIsEscapedAndHasNoSecret() {
        #expect(LogText.shown("a\ntoken=x\nb") == #"a\u{a}token=[redacted]\u{a}b"#)
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

    @Test func theFieldsOfEveryKindOfLineAreInTheTable() {
        for kind in LogKind.allCases {
            #expect(Set(kind.fields).count == kind.fields.count)
            #expect(!kind.text.isEmpty && !kind.frequency.isEmpty)
        }
        let used = Set(LogKind.allCases.flatMap(\.fields)).union(LogField.ofTheCommand).union([.source])
        #expect(used == Set(LogField.allCases), "a field that no line has, or a line with one that is not documented")
    }
}

extension LogField {
    /// Those that only lines of the command have.
    fileprivate static let ofTheCommand: Set<LogField> = [
        .body, .file, .at, .key, .problem, .sourcesAdded, .sourcesChanged, .sourcesRemoved, .pluginsAdded,
        .pluginsChanged,
        .pluginsRemoved,
    ]
}
