import SignalboxCore
import Testing

/// Vectors written from RFC 8259.
@Suite struct JSONReaderTests {
    @Test(
        arguments: [
            "null", "true", "false", "0", "-0", "1", "-1", "10", "0.5", "-0.5e-7", "1E+2", "1e2",
            "123456789012345678901",
            #""""#, #""a""#, #""\"\\\/\b\f\n\r\t""#, #""\u0000\u001F\uFFFF""#, #""\uD834\uDD1E""#, "[]", "{}", "[ ]",
            "\t{\n}\r ", "[1,2,3]", #"{"a":1,"b":[{}],"c":{"d":null}}"#, #" [ 1 , "x" , { "k" : [ ] } ] "#,
            "\"caf\u{E9} \u{65E5}\u{672C}\u{8A9E} \u{1F600}\"", "\"\u{7F}\u{80}\u{2028}\"", #"{"":0}"#,
            #"{"abcdefgh":1,"abcdefghi":2,"abcdefg":3}"#,
        ])
    func validJSONIsAccepted(_ text: String) {
        #expect(Reading.error(text) == nil)
    }

    @Test(
        arguments: [
            ("", BodyError.Code.unexpectedEnd, 0), (" ", .unexpectedEnd, 1), ("[", .unexpectedEnd, 1),
            ("[1", .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3), ("{", .unexpectedEnd, 1),
            (#"{"a"#, .unexpectedEnd, 3), (#"{"a""#, .unexpectedEnd, 4), (#"{"a":"#, .unexpectedEnd, 5),
            ("-", .unexpectedEnd, 1), ("1.", .unexpectedEnd, 2), ("1e", .unexpectedEnd, 2), ("1e+", .unexpectedEnd, 3),
            ("[1,]", .invalidSyntax, 3), ("[,1]", .invalidSyntax, 1), (#"{"a":1,}"#, .invalidSyntax, 7),
            ("{1:2}", .invalidSyntax, 1), (#"{"a" 1}"#, .invalidSyntax, 5), (#"{"a":1 "b":2}"#, .invalidSyntax, 7),
            ("[1 2]", .invalidSyntax, 3), ("[1}", .invalidSyntax, 2), (#"{"a":1]"#, .invalidSyntax, 6),
            ("1 2", .invalidSyntax, 2), ("01", .invalidSyntax, 1), ("+1", .invalidSyntax, 0), (".5", .invalidSyntax, 0),
            ("1.e1", .invalidSyntax, 2), ("-a", .invalidSyntax, 1), ("NaN", .invalidSyntax, 0),
            ("True", .invalidSyntax, 0), ("nul", .invalidSyntax, 0), ("nulll", .invalidSyntax, 4),
            ("'a'", .invalidSyntax, 0),
            ("\u{FEFF}1", .invalidSyntax, 0), ("1\u{0}", .invalidSyntax, 1), ("\u{A0}1", .invalidSyntax, 0),
            ("[1]//", .invalidSyntax, 3), ("1\u{C}", .invalidSyntax, 1),
            ("\"a\u{1}\"", .controlCharacter, 2), ("\"\n\"", .controlCharacter, 1), ("\"\u{0}\"", .controlCharacter, 1),
            (#""\x""#, .invalidEscape, 1), (#""\u12G4""#, .invalidEscape, 1), (#""\U0041""#, .invalidEscape, 1),
            (#""\uD800""#, .loneSurrogate, 1), (#""\uDC00""#, .loneSurrogate, 1), (#""\uD800\n""#, .loneSurrogate, 1),
            (#""\uD800\u0041""#, .loneSurrogate, 1), (#""\u12"#, .unexpectedEnd, 1),
            (#"{"a":1,"a":2}"#, .duplicateKey, 7), (#"{"action":1,"\u0061ction":2}"#, .duplicateKey, 12),
            ("{\"\u{E9}\":1,\"e\u{301}\":2}", .duplicateKey, 8), ("{\"e\u{301}\":1,\"\\u00e9\":2}", .duplicateKey, 9),
            ("{\"K\":1,\"\u{212A}\":2}", .duplicateKey, 7), (#"[{"x":{"":1,"":2}}]"#, .duplicateKey, 12),
        ])
    func invalidJSONIsRefusedWithItsOffset(_ text: String, code: BodyError.Code, offset: Int) {
        for before in 0...8 {
            let error = Reading.error(Array(text.utf8), before: before)
            #expect(error?.code == code, "\(text)")
            #expect(error?.offset == offset, "\(text)")
        }
    }

    @Test func depthIsCountedInOpenArraysAndObjects() {
        let limits = MessageLimits(depth: 3)
        #expect(Reading.error(Array("[[[]]]".utf8), limits: limits) == nil)
        #expect(Reading.error(Array(#"{"a":[{}],"b":[[]]}"#.utf8), limits: limits) == nil)
        let error = Reading.error(Array("[[[[]]]]".utf8), limits: limits)
        #expect(error?.code == .tooDeep)
        #expect(error?.offset == 3)
    }

    @Test func deepNestingStopsAtTheDepthLimit() {
        let text = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
        #expect(Reading.error(text)?.code == .tooDeep)
        #expect(Reading.error(text)?.offset == 64)
    }

    @Test func theSizeLimitIsExact() throws {
        let limits = MessageLimits(bytes: 10)
        #expect(Reading.error(Array("[1,2,3,45]".utf8), limits: limits) == nil)
        let over = Array("[1,2,3,456]".utf8)
        #expect(Reading.error(over, limits: limits)?.code == .tooLarge)
        let arrival = try Missing.unwrap(Reading.arrival(over, limits: limits))
        #expect(Array(arrival.original) == over)
    }

    @Test(arguments: [2, 16, 17, 63, 64, 65, 500, 20_000])
    func theFirstRepeatedKeyAmongManyIsFound(count: Int) {
        let keys = (0..<count).map { "\"key\($0)\":\($0)" }
        let distinct = "{" + keys.joined(separator: ",") + "}"
        #expect(Reading.error(distinct) == nil)
        let prefix = String(distinct.dropLast())
        let error = Reading.error(prefix + #","key1":0,"key0":0}"#)
        #expect(error?.code == .duplicateKey)
        #expect(error?.offset == prefix.utf8.count + 1)
    }

    @Test func manyEscapedKeysAreCompared() {
        let keys = (0..<3_000).map { "\"\\u006bey\($0)\":0" }
        #expect(Reading.error("{" + keys.joined(separator: ",") + "}") == nil)
        #expect(Reading.error("{" + keys.joined(separator: ",") + #","key2999":0}"#)?.code == .duplicateKey)
    }

    @Test func errorsNeverQuoteTheMessage() {
        let error = Reading.error(#"{"a":secret}"#)
        #expect(error?.description == "invalidSyntax at byte 5")
    }
}

@Suite struct BodyFromJSONTests {
    private struct Reply: Decodable, Equatable {
        let sum: Int
    }

    @Test func jsonIsReadAndDecoded() throws {
        let body = try Body(json: Bytes(#" {"sum": 3} "#))
        #expect(try body.decode(Reply.self) == Reply(sum: 3))
        #expect(body.jsonText == #"{"sum":3}"#)
    }

    @Test func aDecodingErrorHasItsOffset() throws {
        let body = try Body(json: Bytes(#"{"sum": 3.5}"#))
        #expect(Reading.decodingError(body, as: Reply.self)?.offset == 8)
    }

    @Test(
        arguments: [
            ("", BodyError.Code.unexpectedEnd, Optional(0)), ("{\"a\":1,}", .invalidSyntax, 7), ("[[[]]]", .tooDeep, 2),
            ("\"0123456789abcdef\"", .tooLarge, nil),
        ])
    func unreadableJSONIsAnErrorWithItsOffset(_ json: String, code: BodyError.Code, offset: Int?) {
        #expect {
            _ = try Body(json: Bytes(json), limits: MessageLimits(bytes: 16, depth: 2))
        } throws: { error in
            guard let error = error as? BodyError else { return false }
            return error.code == code && error.offset == offset
        }
    }
}

@Suite struct UTF8Tests {
    /// Pairs of a first and a second byte, followed by up to two continuation bytes, at three offsets in a string.
    @Test func onlyValidUTF8StringsAreAccepted() {
        for first in UInt8(0x80)...0xFF {
            for second in stride(from: 0x20, through: 0xFF, by: first < 0xF5 ? 1 : 37) {
                guard second != 0x22, second != 0x5C else { continue }
                for tails in 0...2 {
                    check([first, UInt8(second)] + [UInt8](repeating: 0xBF, count: tails), shift: tails)
                }
            }
        }
    }

    @Test(arguments: 0...9)
    func boundarySequencesAreValidatedAtEveryAlignment(shift: Int) {
        let good: [[UInt8]] = [
            [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF],
            [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
        ]
        let bad: [[UInt8]] = [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xC2], [0xE2, 0x82], [0xF0, 0x9F, 0x98],
        ]
        for sequence in good + bad { check(sequence, shift: shift) }
        for sequence in good { #expect(Reading.error(quoted(sequence, shift: shift)) == nil) }
        for sequence in bad {
            let error = Reading.error(quoted(sequence, shift: shift))
            #expect(error?.code == .invalidUTF8)
            #expect(error?.offset == shift + 1)
        }
    }

    @Test func textPayloadsAreValidated() throws {
        let text = "plain ascii text, then \u{E9}\u{65E5}\u{1F600}"
        let body = try Reading.body(Array(text.utf8), payload: .text)
        #expect(try body.decode(String.self) == text)
        let bad = Reading.arrival([0x61, 0xC3], envelope: Reading.anyRoute, payload: .text)
        #expect(throws: Outcome.Rejection(.malformed, BodyError(.invalidUTF8, offset: 1))) { try bad?.reading.get() }
    }

    private func check(_ sequence: [UInt8], shift: Int) {
        let isValid = String(validating: sequence, as: UTF8.self) != nil
        let error = Reading.error(quoted(sequence, shift: shift))
        #expect((error == nil) == isValid, "\(sequence) at \(shift)")
    }

    private func quoted(_ sequence: [UInt8], shift: Int) -> [UInt8] {
        Array("\"".utf8) + [UInt8](repeating: 0x61, count: shift) + sequence + Array("\"".utf8)
    }
}
