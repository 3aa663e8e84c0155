import Foundation
import SignalboxCore
import TestSupport
import Testing

@Suite struct JSONCorpusTests {
    private static let limits = MessageLimits(bytes: 1 << 20, depth: 512)

    @Test func invalidDocumentsAreRefused() throws {
        guard let corpus = try Corpus.cases("json_parsing.json", of: DocumentCase.self) else { return }
        let cases = corpus.filter { $0.expect == "reject" }
        #expect(cases.count == 188)
        for item in cases {
            #expect(try Reading.error(item.document, limits: JSONCorpusTests.limits) != nil, "\(item.name)")
        }
    }

    @Test func validDocumentsAreAcceptedExceptDuplicateKeys() throws {
        guard let corpus = try Corpus.cases("json_parsing.json", of: DocumentCase.self) else { return }
        let cases = corpus.filter { $0.expect == "accept" }
        #expect(cases.count == 95)
        var duplicates = 0
        for item in cases {
            let error = try Reading.error(item.document, limits: JSONCorpusTests.limits)
            if item.name.contains("duplicated_key") {
                duplicates += 1
                #expect(error?.code == .duplicateKey, "\(item.name)")
            } else {
                #expect(error == nil, "\(item.name)")
            }
        }
        #expect(duplicates == 2)
    }

    @Test func unspecifiedDocumentsReadAlikeAtEveryAlignment() throws {
        guard let corpus = try Corpus.cases("json_parsing.json", of: DocumentCase.self) else { return }
        for item in corpus where item.expect == "either" {
            let document = try item.document
            let first = Reading.error(document, limits: JSONCorpusTests.limits)
            for before in 1...9 {
                #expect(Reading.error(document, limits: JSONCorpusTests.limits, before: before) == first)
            }
        }
    }

    @Test func naughtyStringsRoundTripAsBodyIDAndAction() throws {
        guard let texts = try Corpus.cases("naughty_strings.json", of: String.self) else { return }
        for text in texts {
            let quoted = try BodyWriter.write(text).text ?? ""
            #expect(try Reading.body(quoted).decode(String.self) == text)
            let message = #"{"action":"a","id":\#(quoted),"body":\#(quoted)}"#
            let reading = Reading.arrival(Array(message.utf8))?.reading
            if (1...128).contains(text.utf8.count) {
                #expect(try reading?.get().id.text == text)
            } else {
                #expect(throws: Outcome.Rejection.self) { try reading?.get() }
            }
            let named = Reading.arrival(Array(#"{"action":\#(quoted)}"#.utf8))?.reading
            if let name = try? ActionName(text) {
                #expect(try named?.get().name == name)
            } else {
                #expect(throws: Outcome.Rejection.self) { try named?.get() }
            }
        }
    }
}

/// Documents that JSON readers are known to turn into different values.
@Suite struct TransformTests {
    /// Written for the subjects of `json_transform.json`, which is not in the repository.
    @Test(
        arguments: [
            (
                "[9223372036854775807]",
                "`Int64` 9223372036854775807, `UInt64` 9223372036854775807, `Double` `inexactNumber`"
            ),
            (
                "[-9223372036854775807]",
                "`Int64` -9223372036854775807, `UInt64` `integerOutOfRange`, `Double` `inexactNumber`"
            ),
            (
                "[9223372036854775809]",
                "`Int64` `integerOutOfRange`, `UInt64` 9223372036854775809, `Double` `inexactNumber`"
            ),
            (
                "[-9223372036854775810]",
                "`Int64` `integerOutOfRange`, `UInt64` `integerOutOfRange`, `Double` `inexactNumber`"
            ),
            (
                "[18446744073709551616]",
                "`Int64` `integerOutOfRange`, `UInt64` `integerOutOfRange`, `Double` 1.8446744073709552e+19"
            ),
            ("[10000000000000000]", "`Int64` 10000000000000000, `UInt64` 10000000000000000, `Double` 1e+16"),
            (
                "[20000000000000000001]",
                "`Int64` `integerOutOfRange`, `UInt64` `integerOutOfRange`, `Double` `inexactNumber`"
            ),
            ("[2.0]", "`Int64` `notAnInteger`, `UInt64` `notAnInteger`, `Double` 2.0"),
            ("[2.000000000000000004]", "`Int64` `notAnInteger`, `UInt64` `notAnInteger`, `Double` 2.0"),
            ("[2E3]", "`Int64` `notAnInteger`, `UInt64` `notAnInteger`, `Double` 2000.0"),
            ("[1e400]", "`Int64` `notAnInteger`, `UInt64` `notAnInteger`, `Double` `numberOutOfRange`"),
            ("[1e-400]", "`Int64` `notAnInteger`, `UInt64` `notAnInteger`, `Double` 0.0"),
            ("[-0]", "`Int64` 0, `UInt64` 0, `Double` -0.0"), (#"["A\u0000B"]"#, "text of U+0041 U+0000 U+0042"),
            ("[\"\u{FEFF}\"]", "text of U+FEFF"), (#"["\uD834\uDD1E"]"#, "text of U+1D11E"),
            ("{\"a\":1,\"\u{E0}\":2,\"a\u{308}\":3}", "3 members"),
        ])
    func ambiguousDocumentsHaveOneReading(_ text: String, _ answer: String) {
        #expect(ReaderAnswer(Array(text.utf8)).text == "accepted: \(answer)")
    }

    @Test(
        arguments: [
            ("{\"\u{E0}\":1,\"a\u{300}\":2}", "`duplicateKey` at byte 8"),
            ("{\"a\u{300}\":1,\"\u{E0}\":2}", "`duplicateKey` at byte 9"),
            (#"{"a\u0300":1,"\u00e0":2}"#, "`duplicateKey` at byte 13"),
            (#"{"k":1,"\u006B":1}"#, "`duplicateKey` at byte 7"),
            (#"{"k":true,"k":true}"#, "`duplicateKey` at byte 10"), (#"{"k":-0,"k":0}"#, "`duplicateKey` at byte 8"),
            (#"["\uDBFF"]"#, "`loneSurrogate` at byte 2"), (#"["\uDBFF\uDBFF"]"#, "`loneSurrogate` at byte 2"),
            (#"["\uDBFF\uDBFF\uDBFF"]"#, "`loneSurrogate` at byte 2"),
            (#"["\uDFFF\uDBFF"]"#, "`loneSurrogate` at byte 2"),
            ("[\"\u{0}\"]", "`controlCharacter` at byte 2"), ("\u{0}[]", "`invalidSyntax` at byte 0"),
            ("\u{FEFF}", "`invalidSyntax` at byte 0"), ("\u{FEFF}[]", "`invalidSyntax` at byte 0"),
            ("[\u{FEFF}]", "`invalidSyntax` at byte 1"),
        ])
    func ambiguousDocumentsAreRefusedWithTheirPosition(_ text: String, _ answer: String) {
        #expect(ReaderAnswer(Array(text.utf8)).text == answer)
    }

    @Test(arguments: 1...3)
    func encodedSurrogatesAreInvalidUTF8(count: Int) {
        let document =
            Array("[\"".utf8) + Array(repeatElement([0xED, 0xAF, 0xBF], count: count).joined()) + Array("\"]".utf8)
        #expect(ReaderAnswer(document).text == "`invalidUTF8` at byte 2")
    }

    /// With `SIGNALBOX_WRITE_DOCS` set, the test writes the table before it compares it.
    @Test func documentedAnswersMatchTheReader() throws {
        guard let cases = try Corpus.cases("json_transform.json", of: DocumentCase.self) else { return }
        let rows = try cases.map { ["`\($0.name)`", ReaderAnswer(try $0.document).text] }
        #expect(rows.count == 22)
        if ProcessInfo.processInfo.environment["SIGNALBOX_WRITE_DOCS"] != nil { try write(rows) }
        #expect(try DocumentTable(under: "Answers", in: "json-transform.md").rows == rows)
    }

    private func write(_ rows: [[String]]) throws {
        let file = DocumentTable.file("json-transform.md")
        let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
        let begin = try Missing.unwrap(lines.firstIndex { $0.hasPrefix("|---") })
        let end = lines[begin...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex
        let table = rows.map { "| " + $0.joined(separator: " | ") + " |" }
        try (lines[...begin] + table + lines[end...]).joined(separator: "\n").write(
            to: file,
            atomically: true,
            encoding: .utf8
        )
    }
}

/// The reader's answer to a document in words: an error's code and position, or the decoded values.
struct ReaderAnswer {
    let text: String

    init(_ document: [UInt8]) {
        do throws(BodyError) {
            text = "accepted: " + ReaderAnswer.words(try Body(json: Bytes(document)))
        } catch {
            text = "`\(error.code)` at byte \(error.offset ?? -1)"
        }
    }

    private static func words(_ body: Body) -> String {
        if let texts = try? body.decode([String].self) {
            let scalars = texts.joined().unicodeScalars.map { "U+" + ReaderAnswer.hexadecimal($0.value) }
            return "text of " + scalars.joined(separator: " ")
        }
        if let names = try? body.decode([String: JSONForm].self) { return "\(names.count) members" }
        return [
            "`Int64` " + answer(body, Int64.self), "`UInt64` " + answer(body, UInt64.self),
            "`Double` " + answer(body, Double.self),
        ].joined(separator: ", ")
    }

    private static func answer<Value: Decodable>(_ body: Body, _ type: Value.Type) -> String {
        do throws(BodyError) {
            return try body.decode([Value].self).map { "\($0)" }.joined(separator: " ")
        } catch {
            return "`\(error.code)`"
        }
    }

    private static func hexadecimal(_ value: UInt32) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

/// A document of a corpus, and whether a reader must accept or refuse it.
struct DocumentCase: Decodable {
    enum Piece: Decodable {
        case text(String)
        case count(Int)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let count = try? container.decode(Int.self) {
                self = .count(count)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    let name: String
    let expect: String?
    let b64: String?
    let `repeat`: [Piece]?

    /// The document, from base64 or from a base64 unit and its number of repetitions.
    var document: [UInt8] {
        get throws {
            if let b64 { return [UInt8](try Missing.unwrap(Data(base64Encoded: b64))) }
            guard case .text(let unit)? = `repeat`?.first, case .count(let times)? = `repeat`?.last else {
                throw Missing()
            }
            let bytes = [UInt8](try Missing.unwrap(Data(base64Encoded: unit)))
            return Array(repeatElement(bytes, count: times).joined())
        }
    }
}
