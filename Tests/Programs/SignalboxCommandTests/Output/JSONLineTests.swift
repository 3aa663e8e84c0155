import Foundation
import SignalboxCore
import Testing

@testable import SignalboxCommand

@Suite struct JSONLineTests {
    @Test(arguments: NaughtyText.all) func anyTextStaysOneValidLine(_ text: String) throws {
        var object = JSONObject()
        object.add(text, text)
        object.add("n", 7)
        let line = String(decoding: object.line, as: UTF8.self)
        #expect(line.hasSuffix("}\n"))
        #expect(!line.dropLast().unicodeScalars.contains { LineEscape.isUnsafe($0) })
        let read = try #require(try JSONSerialization.jsonObject(with: Data(object.line)) as? [String: Any])
        #expect(read[text] as? String == text || text == "n")
        #expect(read["n"] as? Int == 7)
    }

    @Test(arguments: NaughtyText.all) func compactedJSONMeansTheSame(_ text: String) throws {
        let wrapped = try JSONSerialization.data(
            withJSONObject: [text: [text, 1.5, NSNull()]],
            options: .prettyPrinted
        )
        let compact = JSONText.compact(wrapped)
        #expect(!String(decoding: compact, as: UTF8.self).unicodeScalars.contains { LineEscape.isUnsafe($0) })
        let read = try JSONSerialization.jsonObject(with: Data(compact)) as? NSDictionary
        #expect(read == [text: [text, 1.5, NSNull()] as [Any]] as NSDictionary)
    }

    @Test func compactingKeepsStringsAndNumbersAsWritten() {
        let json = " { \"a b\" : [ 1.50 , \"x \\\" y\" , 1e2 ] }\r\n"
        #expect(String(decoding: JSONText.compact(json.utf8), as: UTF8.self) == #"{"a b":[1.50,"x \" y",1e2]}"#)
    }

    @Test func bytesThatAreNoTextAreBase64() {
        var object = JSONObject()
        object.add("payload", content: Bytes([0xFF, 0x00]))
        object.add("deadLetter", content: Bytes([0xC0]))
        let expected = #"{"payload":"/wA=","encoding":"base64","deadLetter":"wA==","deadLetterEncoding":"base64"}"#
        #expect(String(decoding: object.closed, as: UTF8.self) == expected)
    }

    @Test func base64IsFoundations() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
            #expect(Base64.text(bytes) == Data(bytes).base64EncodedString())
        }
    }
}
