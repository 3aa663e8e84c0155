import Foundation
import SignalboxCore
import TestSupport
import Testing

@Suite struct BodyWriterTests {
    @Test func membersAreSortedByBytesWithoutWhitespace() throws {
        let bytes = try BodyWriter.write(["b": 1, "a": 2, "\u{E9}": 3, "B": 4, "\u{FF61}": 5, "\u{1F600}": 6])
        #expect(bytes.text == "{\"B\":4,\"a\":2,\"b\":1,\"\u{E9}\":3,\"\u{FF61}\":5,\"\u{1F600}\":6}")
    }

    @Test func controlCharactersAreEscaped() throws {
        let text = try BodyWriter.write("\u{0}\u{1F}\"\\/\n\u{7F}\u{85}\u{9F}\u{A0}").text
        #expect(text == "\"\\u0000\\u001f\\\"\\\\/\\n\\u007f\\u0085\\u009f\u{A0}\"")
    }

    @Test func charactersThatAreUnsafeInALineAreEscaped() throws {
        let text = try BodyWriter.write("é\u{2028}日\u{2029}\u{200F}\u{202E}a\u{2066}\u{61C}😀\u{FEFF}").text
        #expect(text == #""é\u2028日\u2029\u200f\u202ea\u2066\u061c😀\ufeff""#)
        #expect(try Reading.body(#""\u2028""#).jsonText == #""\u2028""#)
    }

    @Test func numbersRoundTrip() throws {
        #expect(try BodyWriter.write([1.0, -0.5, 1e20, Double.leastNonzeroMagnitude]).text == "[1,-0.5,1e+20,5e-324]")
        #expect(try BodyWriter.write([Int64.min]).text == "[-9223372036854775808]")
        for value in [Double.greatestFiniteMagnitude, 0.1, 9_007_199_254_740_992, -1e15, 18_014_398_509_481_984] {
            #expect(try Reading.body(Array(BodyWriter.write(value))).decode(Double.self) == value)
        }
    }

    @Test func nonfiniteNumbersAreErrors() {
        let error = BodyError(.nonfiniteNumber, path: "reply.x[1]", detail: "expected a finite number")
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

    @Test func infinitelyRecursiveEncodingIsAnError() {
        struct Loop: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(self)
            }
        }
        #expect(throws: BodyError.self) { try BodyWriter.write(Loop()) }
    }

    @Test func bodiesAreWrittenCompactly() throws {
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

@Suite struct RandomDocumentTests {
    indirect enum Tree: Codable, Equatable {
        case null
        case bool(Bool)
        case int(Int)
        case double(Double)
        case text(String)
        case list([Tree])
        case table([String: Tree])

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                self = .null
            } else if let bool = try? value.decode(Bool.self) {
                self = .bool(bool)
            } else if let int = try? value.decode(Int.self) {
                self = .int(int)
            } else if let double = try? value.decode(Double.self) {
                self = .double(double)
            } else if let text = try? value.decode(String.self) {
                self = .text(text)
            } else if let list = try? value.decode([Tree].self) {
                self = .list(list)
            } else {
                self = .table(try value.decode([String: Tree].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            switch self {
            case .null: try value.encodeNil()
            case .bool(let bool): try value.encode(bool)
            case .int(let int): try value.encode(int)
            case .double(let double): try value.encode(double)
            case .text(let text): try value.encode(text)
            case .list(let list): try value.encode(list)
            case .table(let table): try value.encode(table)
            }
        }

        static func random(_ depth: Int, _ generator: inout SeededGenerator) -> Tree {
            switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &generator) {
            case 0: .null
            case 1: .bool(Bool.random(using: &generator))
            case 2: .int(Int(truncatingIfNeeded: generator.next()) >> Int.random(in: 0..<64, using: &generator))
            case 3: .double(Double.random(in: -1e6...1e6, using: &generator) + 0.123)
            case 4: .text(text(&generator))
            case 5: .list((0..<Int.random(in: 0..<5, using: &generator)).map { _ in random(depth - 1, &generator) })
            default: .table(table(depth, &generator))
            }
        }

        private static func table(_ depth: Int, _ generator: inout SeededGenerator) -> [String: Tree] {
            var table: [String: Tree] = [:]
            for _ in 0..<Int.random(in: 0..<30, using: &generator) {
                table[text(&generator)] = random(min(depth - 1, 1), &generator)
            }
            return table
        }

        private static func text(_ generator: inout SeededGenerator) -> String {
            let pieces = [
                "a", "key", "\"", "\\", "\n", "\u{E9}", "\u{65E5}", "\u{1F600}", "/", "\u{1}", "longer piece ",
            ]
            return (0..<Int.random(in: 0..<6, using: &generator)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }.joined()
        }
    }

    @Test func randomValuesRoundTripThroughBothEncoders() throws {
        var generator = SeededGenerator(printing: 20_260_101)
        for _ in 0..<500 {
            let tree = Tree.random(4, &generator)
            let foreign = try JSONEncoder().encode(tree)
            #expect(try Reading.body([UInt8](foreign)).decode(Tree.self) == tree)
            let own = try BodyWriter.write(tree)
            #expect(try Reading.body(Array(own)).decode(Tree.self) == tree)
            #expect(try JSONDecoder().decode(Tree.self, from: Data(own)) == tree)
            #expect(try Reading.body(Array(own)).jsonText == own.text)
        }
    }

    @Test func mutatedDocumentsReadAlikeAtEveryAlignment() throws {
        var generator = SeededGenerator(printing: 7)
        var refused = 0
        for _ in 0..<4_000 {
            var document = Array(try BodyWriter.write(Tree.random(2, &generator)))
            for _ in 0..<Int.random(in: 1...3, using: &generator) { mutate(&document, &generator) }
            guard !document.isEmpty else { continue }
            let first = Reading.error(document)
            if first != nil { refused += 1 }
            if first == nil { _ = try Reading.body(document).jsonText }
            for before in [1, Int.random(in: 2...9, using: &generator)] {
                #expect(Reading.error(document, before: before) == first)
            }
        }
        #expect((500...3_900).contains(refused))
    }

    private func mutate(_ document: inout [UInt8], _ generator: inout SeededGenerator) {
        guard !document.isEmpty else { return }
        let index = Int.random(in: 0..<document.count, using: &generator)
        let significant = Array("\"\\{}[],:0-eu\u{0}".utf8) + [0x80, 0xC3, 0xED, 0xFF]
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: document[index] = UInt8(truncatingIfNeeded: generator.next())
        case 1: document.insert(significant[Int.random(in: 0..<significant.count, using: &generator)], at: index)
        case 2: document.remove(at: index)
        default: document.removeSubrange(index...)
        }
    }
}
