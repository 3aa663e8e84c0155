import Logging
import Testing

@testable import SignalboxCommand

@Suite struct LogLineTests {
    @Test(arguments: NaughtyText.all) func oneEventIsOneLine(_ text: String) {
        let metadata: Logger.Metadata = ["key\(text)": "\(text)"]
        let line = LineLogHandler.line(time: "T", level: .info, message: text, metadata: metadata)
        #expect(line.hasSuffix("\n"))
        #expect(!line.dropLast().unicodeScalars.contains { LineEscape.isUnsafe($0) })
    }

    @Test func keysAreSortedAndSpacesQuoted() {
        let metadata: Logger.Metadata = ["b": "two words", "a": "1"]
        let line = LineLogHandler.line(time: "T", level: .warning, message: "hello", metadata: metadata)
        #expect(line == "T warning hello a=1 b=\"two words\"\n")
    }
}
