import Foundation
import SignalboxCore
import Testing

/// Each row of the table of differences has its own example.
@Suite struct IntendedDifferenceTests {
    private struct Deep: Decodable {
        init(from decoder: any Decoder) throws {}
    }
    private struct Heir: Decodable {
        enum Keys: String, CodingKey { case parent }
        let isNull: Bool
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            isNull = try container.superDecoder(forKey: .parent).singleValueContainer().decodeNil()
        }
    }

    @Test func documentedDifferencesMatchTheCode() throws {
        let table = try DocumentTable(under: "Differences from Foundation's decoder", in: "json.md")
        #expect(table.rows.map { $0[0] } == IntendedDifference.allCases.map(\.rawValue))
        #expect(table.rows.allSatisfy { $0.count == 3 && $0[1] != $0[2] })
    }

    @Test(.enabled(if: IntendedDifference.isMeasuredHere), arguments: IntendedDifference.allCases)
    func eachDocumentedDifferenceHolds(_ difference: IntendedDifference) throws {
        switch difference {
        case .repeatedName:
            #expect(foundation(#"{"a":1,"a":2}"#, as: [String: Int].self) == ["a": 1])
            #expect(JSONForm.foundation(Array(#"{"a":1,"a":2}"#.utf8)) == .table(["a": .number(2, integer: "2")]))
            #expect(signalbox(#"{"a":1,"a":2}"#) == .duplicateKey)
        case .equalNames:
            for text in ["{\"\u{E9}\":1,\"e\u{301}\":2}", #"{"a":1,"\u0061":2}"#] {
                #expect(foundation(text, as: [String: Int].self)?.count == 1)
                #expect(signalbox(text) == .duplicateKey)
            }
        case .trailingComma: try expectAccepted("[1,]", butRefusedAs: .invalidSyntax)
        case .byteOrderMark: try expectAccepted("\u{FEFF}[1]", butRefusedAs: .invalidSyntax, at: 0)
        case .otherEncoding:
            let wide = try Missing.unwrap("[1]".data(using: .utf16LittleEndian))
            #expect(try JSONDecoder().decode([Int].self, from: wide) == [1])
            #expect(throws: BodyError.self) { try Body(json: Bytes([UInt8](wide))) }
        case .unrequestedValue:
            for text in [#"{"x":01}"#, #"{"x":"\ud800"}"#, "{\"x\":\"\u{1}\"}"] {
                #expect(foundation(text, as: Payment.self) == Payment(amount: nil))
                #expect(signalbox(text) != nil)
            }
        case .nesting:
            let nested = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
            #expect(foundation(nested, as: Deep.self) != nil)
            #expect(signalbox(nested) == .tooDeep)
        case .size:
            let long = "\"" + String(repeating: "x", count: 65_536) + "\""
            #expect(foundation(long, as: String.self) != nil)
            #expect(signalbox(long) == .tooLarge)
        case .fractionAsInteger, .inexactInteger, .hugeNumber, .tinyNumber, .longNumber:
            try expectNumbers(difference)
        case .decodingError, .absentSuperDecoder, .orderOfReply:
            try expectCoding(difference)
        }
    }

    private func expectNumbers(_ difference: IntendedDifference) throws {
        switch difference {
        case .fractionAsInteger:
            #expect(foundation("[1.0,1e2]", as: [Int].self) == [1, 100])
            for text in ["1.0", "1e2"] { #expect(signalbox(text, as: Int.self) == .notAnInteger) }
        case .inexactInteger:
            #expect(foundation("9007199254740993", as: Double.self) == 9_007_199_254_740_992)
            #expect(signalbox("9007199254740993", as: Double.self) == .inexactNumber)
        case .hugeNumber:
            #expect(JSONForm.foundation(Array("[1e400]".utf8)) == nil)
            #expect(foundation("[1e400]", as: [Double].self) == nil)
            #expect(signalbox("[1e400]", as: Deep.self) == nil)
            #expect(signalbox("1e400", as: Double.self) == .numberOutOfRange)
        case .tinyNumber:
            for text in ["1e-400", "0e2"] {
                #expect(foundation(text, as: Double.self) == nil)
                #expect(try Body(json: Bytes(text)).decode(Double.self) == 0)
            }
        default:
            let text = "14061.220054259505"
            #expect(JSONForm.foundation(Array(text.utf8)) != .number(Double(text), integer: nil))
            #expect(try JSONForm.signalbox(Array(text.utf8)) == .number(Double(text), integer: nil))
        }
    }

    private func expectCoding(_ difference: IntendedDifference) throws {
        switch difference {
        case .decodingError:
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(Int.self, from: Data("\"a\"".utf8)) }
            #expect(signalbox("\"a\"", as: Int.self) == .typeMismatch)
        case .absentSuperDecoder:
            #expect(foundation("{}", as: Heir.self)?.isNull == true)
            #expect(signalbox("{}", as: Heir.self) == .missingMember)
        default:
            let names = Dictionary(uniqueKeysWithValues: (10..<99).map { ("\($0)", 0) })
            let sorted = "{" + names.keys.sorted().map { "\"\($0)\":0" }.joined(separator: ",") + "}"
            #expect(try JSONEncoder().encode(names) != Data(sorted.utf8))
            #expect(try BodyWriter.write(names).text == sorted)
        }
    }

    private struct Payment: Decodable, Equatable { let amount: Int? }

    private func expectAccepted(_ text: String, butRefusedAs code: BodyError.Code, at offset: Int? = nil) throws {
        #expect(JSONForm.foundation(Array(text.utf8)) != nil)
        #expect(foundation(text, as: [Int].self) == [1])
        let error = Reading.error(text)
        #expect(error?.code == code)
        if let offset { #expect(error?.offset == offset) }
    }

    private func foundation<Value: Decodable>(_ text: String, as type: Value.Type) -> Value? {
        try? JSONDecoder().decode(type, from: Data(text.utf8))
    }

    /// Returns the code of Signalbox's refusal, or `nil` if it accepts the text.
    private func signalbox<Value: Decodable>(_ text: String, as type: Value.Type = JSONForm.self) -> BodyError.Code? {
        do throws(BodyError) {
            _ = try Body(json: Bytes(text)).decode(type)
            return nil
        } catch {
            return error.code
        }
    }
}

/// An intended difference between Signalbox and Foundation. The list is closed: there is one case for each row of the
/// table in docs/json.md, whose first column is the raw value.
enum IntendedDifference: String, CaseIterable {
    case repeatedName = "two members with the same name"
    case equalNames = #"names equal as `String`s but not as bytes (NFC and NFD, `"a"` and `"\u0061"`)"#
    case trailingComma = "trailing comma"
    case byteOrderMark = "byte order mark"
    case otherEncoding = "encodings other than UTF-8"
    case unrequestedValue = "an invalid number or string in a value that is not decoded"
    case fractionAsInteger = "`1.0` or `1e2` decoded as an integer"
    case inexactInteger = "`9007199254740993` decoded as `Double`"
    case hugeNumber = "`1e400`"
    case tinyNumber = "`1e-400` or `0e2` decoded as `Double`"
    case longNumber = "a number with many digits"
    case nesting = "more than 64 nested arrays and objects"
    case size = "a message of more than 65,536 bytes"
    case decodingError = "a `DecodingError`"
    case absentSuperDecoder = "`superDecoder(forKey:)` of an absent member"
    case orderOfReply = "names in a reply"

    /// Whether this is the Foundation that the table describes. Apple's reads some of these documents differently.
    static var isMeasuredHere: Bool {
        #if os(Linux)
        true
        #else
        false
        #endif
    }
}
