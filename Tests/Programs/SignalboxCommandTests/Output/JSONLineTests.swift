import Foundation
import Logging
import Testing

@testable import SignalboxCommand
@testable import SignalboxCore

@Suite struct JSONLineTests {
    @Test(arguments: NaughtyText.all) func anyTextStaysOneValidLine(_ text: String) throws {
        var object = JSONObject()
        object.add(text, text)
        object.add("n", 7)
        let line = String(decoding: object.line, as: UTF8.self)
        #expect(line.hasSuffix("}\n"))
        #expect(!line.dropLast().unicodeScalars.contains { $0.isUnsafeInLine })
        let read = try #require(try JSONSerialization.jsonObject(with: Data(object.line)) as? [String: Any])
        #expect(read[text] as? String == text || text == "n")
        #expect(read["n"] as? Int == 7)
    }

    @Test(arguments: NaughtyText.all) func compactedJSONIsEquivalent(_ text: String) throws {
        let wrapped = try JSONSerialization.data(
            withJSONObject: [text: [text, 1.5, NSNull()]],
            options: .prettyPrinted
        )
        let compact = EscapedJSON.compact(wrapped)
        #expect(!String(decoding: compact, as: UTF8.self).unicodeScalars.contains { $0.isUnsafeInLine })
        let read = try JSONSerialization.jsonObject(with: Data(compact)) as? NSDictionary
        #expect(read == [text: [text, 1.5, NSNull()] as [Any]] as NSDictionary)
    }

    @Test func compactingKeepsStringsAndNumbersAsWritten() {
        let json = " { \"a b\" : [ 1.50 , \"x \\\" y\" , 1e2 ] }\r\n"
        #expect(String(decoding: EscapedJSON.compact(json.utf8), as: UTF8.self) == #"{"a b":[1.50,"x \" y",1e2]}"#)
    }

    @Test func nonUTF8BytesAreBase64() {
        var object = JSONObject()
        object.add("payload", content: Bytes([0xFF, 0x00]))
        object.add("deadLetter", content: Bytes([0xC0]))
        let expected = #"{"payload":"/wA=","encoding":"base64","deadLetter":"wA==","deadLetterEncoding":"base64"}"#
        #expect(String(decoding: object.bytes, as: UTF8.self) == expected)
    }

    @Test func base64MatchesFoundation() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
            #expect(Base64.encoded(Bytes(bytes)) == Data(bytes).base64EncodedString())
        }
    }
}

@Suite struct LogLineTests {
    @Test(arguments: NaughtyText.all) func oneEventIsOneLine(_ text: String) {
        let metadata: Logger.Metadata = ["key\(text)": "\(text)"]
        let line = LineLogHandler.line(time: "T", level: .info, message: text, metadata: metadata)
        #expect(line.hasSuffix("\n"))
        #expect(!line.dropLast().unicodeScalars.contains { $0.isUnsafeInLine })
    }

    @Test(arguments: NaughtyText.all) func oneEventIsOneJSONObject(_ text: String) throws {
        let line = DiagnosticOutput.json(level: .error, text, metadata: ["key\(text)": "\(text)", "time": "later"])
        #expect(line.hasSuffix("\n"))
        #expect(!line.dropLast().unicodeScalars.contains { $0.isUnsafeInLine })
        let members = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(members["level"] == "error" && members["message"] == text)
        #expect(members["key\(text)"] == text && members["time_"] == "later" && members["time"]?.count == 24)
    }

    @Test func keysAreSortedAndSpacesQuoted() {
        let metadata: Logger.Metadata = ["b": "two words", "a": "1"]
        let line = LineLogHandler.line(time: "T", level: .warning, message: "hello", metadata: metadata)
        #expect(line == "T warning hello a=1 b=\"two words\"\n")
    }
}

@Suite struct WallTimeTextTests {
    @Test func timesAreRead() {
        for (text, seconds, nanoseconds) in [
            ("2023-11-14T22:13:20Z", 1_700_000_000, 0), ("2023-11-14T23:13:20.5+01:00", 1_700_000_000, 500_000_000),
            ("1969-12-31T23:59:59.000000001Z", -1, 1), ("2023-11-14T20:43:20.000000120-01:30", 1_700_000_000, 120),
        ] as [(String, Int64, UInt32)] {
            let expected = WallTime(seconds: seconds, nanoseconds: nanoseconds)
            #expect(WallTimeText.time(in: text) == expected)
            #expect(WallTimeText.time(in: WallTimeText.exact(expected)) == expected)
        }
    }

    @Test(arguments: [
        "2023-02-29T00:00:00Z", "2023-00-14T22:13:20Z", "2023-11-14T24:00:00Z", "2023-11-14T22:60:20Z",
        "2023-11-14T22:13:60Z",
        "2023-11-14 22:13:20Z", "2023-11-14T22:13:20", "2023-11-14T22:13:20Zz", "2023-11-14T22:13:2 Z", "2023-11-1", "",
        "2023-11-14T22:13:20.Z", "2023-11-14T22:13:20.1234567891Z", "2023-11-14T22:13:20+24:00",
        "2023-11-14T22:13:20+01:60",
        "2023-11-14T22:13:20+0100", "٢٠٢٣-11-14T22:13:20Z", "+023-11-14T22:13:20Z",
    ])
    func otherTextIsNoTime(_ text: String) {
        #expect(WallTimeText.time(in: text) == nil)
    }

    @Test func knownTimesAreWrittenInUTC() {
        #expect(WallTimeText.utc(WallTime(seconds: 0)) == "1970-01-01T00:00:00.000Z")
        #expect(WallTimeText.utc(WallTime(seconds: 951_782_400, nanoseconds: 7_999_999)) == "2000-02-29T00:00:00.007Z")
        #expect(WallTimeText.utc(WallTime(seconds: -1)) == "1969-12-31T23:59:59.000Z")
        #expect(WallTimeText.utc(WallTime(seconds: 4_107_542_399)) == "2100-02-28T23:59:59.000Z")
    }

    @Test func datesMatchFoundation() {
        let formatter = ISO8601DateFormatter()
        for day in stride(from: -100_000, through: 100_000, by: 97) {
            let seconds = day * 86_400 + 12_345
            let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            let found = WallTimeText.utc(WallTime(seconds: Int64(seconds)))
            #expect(found == expected.replacing("Z", with: ".000Z"))
        }
    }
}

/// Texts that break lines, terminals or JSON if written verbatim.
enum NaughtyText {
    static let all = [
        "", "plain", "a\nb", "a\r\nb", "\u{1B}[31mred\u{1B}[0m", "\u{9B}31m", "\u{0}", "\u{7F}", "\u{85}",
        "a\u{2028}b\u{2029}",
        "\u{202E}txt.exe", "\u{2066}x\u{2069}", "\"quoted\"", "back\\slash", "\\n", "tab\there", "👩‍👩‍👧", "e\u{301}",
        "\u{FEFF}",
        "\u{FFFF}", "}{\"a\":1}", "ｱｲｳ", "\u{10FFFF}",
    ]
}
