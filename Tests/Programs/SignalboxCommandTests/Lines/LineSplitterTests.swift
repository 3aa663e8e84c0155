import Testing

@testable import SignalboxCommand
@testable import SignalboxCore
@testable import SignalboxRoutes

@Suite struct LineSplitterTests {
    /// The lines of a text that comes in pieces of so many bytes.
    private static func lines(_ text: String, piece: Int, limit: Int = 8) -> [InputLine] {
        var splitter = LineSplitter(limit: limit)
        var rest = Array(text.utf8)[...]
        var lines: [InputLine] = []
        while !rest.isEmpty {
            lines += splitter.lines(in: Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
        }
        return lines + [splitter.lastLine()].compactMap { $0 }
    }

    private static func line(_ text: String, isCut: Bool = false) -> InputLine {
        InputLine(Array(text.utf8), isCut: isCut)
    }

    @Test(arguments: 1...12) func linesAreTheSameInWhateverPiecesTheyCome(_ piece: Int) {
        let line = LineSplitterTests.line
        let found = LineSplitterTests.lines(
            "a\n\nbc\r\n\r\n12345678\n12345678\r\n123456789\n1234567\r8\nlast",
            piece: piece
        )
        let expected = [
            line("a", false), line("", false), line("bc", false), line("", false), line("12345678", false),
            line("12345678", false), line("12345678", true), line("1234567\r", true), line("last", false),
        ]
        #expect(found == expected)
    }

    @Test func theLastLineNeedsNoEnd() {
        #expect(LineSplitterTests.lines("a\nb", piece: 9).map(\.bytes) == [Array("a".utf8), Array("b".utf8)])
        #expect(LineSplitterTests.lines("a\nb\n", piece: 9).count == 2)
        #expect(LineSplitterTests.lines("", piece: 9).isEmpty)
    }

    @Test func aCarriageReturnIsOnlyTheEndOfALineBeforeALineFeed() {
        #expect(LineSplitterTests.lines("a\rb\r", piece: 9) == [LineSplitterTests.line("a\rb\r")])
    }

    @Test func noMoreOfALineIsKeptThanItsLimit() {
        let found = LineSplitterTests.lines(String(repeating: "x", count: 100_000) + "\ny\n", piece: 64)
        #expect(found == [LineSplitterTests.line("xxxxxxxx", isCut: true), LineSplitterTests.line("y")])
    }

    @Test func aLineThatIsNotUTF8SaysWhere() {
        let line = InputLine(Array("myapp://ü/".utf8) + [0xFF, 0x61])
        #expect(throws: URLTextError(.notUTF8, at: 11, "the line is not UTF-8")) {
            () throws(URLTextError) in try line.text()
        }
        #expect(line.content.text == nil)
        #expect(line.shown == "(13 bytes)")
    }

    @Test func aLineThatWasCutInACharacterIsRepeatedWithoutIt() {
        let line = InputLine(Array("a€".utf8.dropLast()), isCut: true)
        #expect(line.content.text == "a")
        #expect(line.shown == "a…")
        #expect(throws: URLTextError(.tooLong, at: 3, "at most 3 bytes expected")) {
            () throws(URLTextError) in try line.text()
        }
    }
}
