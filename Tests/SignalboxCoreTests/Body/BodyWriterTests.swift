import SignalboxCore
import Testing

@Suite struct BodyWriterTests {
    @Test func namesAreSortedByTheirBytesAndNothingIsSpaced() throws {
        let bytes = try BodyWriter.write(["b": 1, "a": 2, "\u{E9}": 3, "B": 4, "\u{FF61}": 5, "\u{1F600}": 6])
        #expect(bytes.text == "{\"B\":4,\"a\":2,\"b\":1,\"\u{E9}\":3,\"\u{FF61}\":5,\"\u{1F600}\":6}")
    }

    @Test func controlCharactersAreEscaped() throws {
        let text = try BodyWriter.write("\u{0}\u{1F}\"\\/\n\u{7F}\u{85}\u{9F}\u{A0}").text
        #expect(text == "\"\\u0000\\u001f\\\"\\\\/\\n\\u007f\\u0085\\u009f\u{A0}\"")
    }

    @Test func numbersReadBackEqual() throws {
        #expect(try BodyWriter.write([1.0, -0.5, 1e20, Double.leastNonzeroMagnitude]).text == "[1,-0.5,1e+20,5e-324]")
        #expect(try BodyWriter.write([Int64.min]).text == "[-9223372036854775808]")
        for value in [Double.greatestFiniteMagnitude, 0.1, 9_007_199_254_740_992, -1e15, 18_014_398_509_481_984] {
            #expect(try Reading.body(Array(BodyWriter.write(value))).decode(Double.self) == value)
        }
    }

    @Test func whatJSONHasNotIsAnError() {
        let error = BodyError(.nonfiniteNumber, path: "reply.x[1]", detail: "a finite number expected")
        #expect(throws: error) { try BodyWriter.write(["x": [0, Double.infinity]]) }
    }

    @Test func repliesNestedTooDeeplyAreErrors() throws {
        indirect enum Nest: Encodable {
            case end, more(Nest)
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                if case .more(let nest) = self { try container.encode(nest) }
            }
        }
        var nest = Nest.end
        for _ in 1..<64 { nest = .more(nest) }
        #expect(try BodyWriter.write(nest).count == 128)
        #expect(throws: BodyError.self) { try BodyWriter.write(Nest.more(nest)) }
    }

    @Test func aValueThatEncodesItselfForEverIsAnError() {
        struct Loop: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(self)
            }
        }
        #expect(throws: BodyError.self) { try BodyWriter.write(Loop()) }
    }

    @Test func bodiesAreWrittenBackCompactly() throws {
        let text = " { \"b\" : [ 1.50 , \"\\u0061\\n\" , null ] , \"a\" : { } } "
        #expect(try Reading.body(text).jsonText == #"{"b":[1.50,"a\n",null],"a":{}}"#)
        for (bytes, base64) in [([], ""), ([0xFB], "+w=="), ([0xFB, 0xFF], "+/8="), ([1, 2, 3], "AQID")]
            as [([UInt8], String)]
        {
            let expected = bytes.isEmpty ? "null" : "\"\(base64)\""
            #expect(try Reading.body(bytes, payload: .bytes).jsonText == expected)
        }
    }
}
