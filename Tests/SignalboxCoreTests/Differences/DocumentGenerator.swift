import Foundation
import SignalboxCore
import TestSupport

/// A generator of random JSON texts in every form that RFC 8259 allows, with flaws that readers treat differently.
struct DocumentGenerator {
    var random: SeededGenerator
    /// The average number of places for each flaw.
    let flawEvery: Int

    init(seed: UInt64, flawEvery: Int = 60) {
        random = SeededGenerator(printing: seed)
        self.flawEvery = flawEvery
    }

    mutating func document() -> [UInt8] {
        finished(value(depth: Int.random(in: 0...5, using: &random)))
    }

    /// Returns the value with whitespace, and sometimes with a byte order mark, in another encoding or damaged.
    mutating func finished(_ value: [UInt8]) -> [UInt8] {
        var text: [UInt8] = flaw(6) ? [0xEF, 0xBB, 0xBF] : []
        text += space() + value + space()
        if pick(400) { text = wide(text) }
        for _ in 0..<(pick(3) ? Int.random(in: 1...3, using: &random) : 0) { mutate(&text) }
        return text
    }

    mutating func value(depth: Int) -> [UInt8] {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 5), using: &random) {
        case 0: Array(one(of: ["null", "true", "false"]).utf8)
        case 1, 2: number()
        case 3, 4: string()
        case 5, 6: list(depth: depth)
        default: table(depth: depth)
        }
    }

    mutating func number() -> [UInt8] {
        let special = [
            "0", "-0", "-0.0", "1.0", "1e2", "1E+2", "9007199254740993", "-9007199254740993", "9223372036854775807",
            "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
            "18446744073709551616", "1e400", "-1e400", "1e-400", "1e308", "1.7976931348623157e308", "5e-324", "0e999",
            "0.1", "100000000000000000000000", "123456789012345678901234567890", "255", "256", "-129", "16777217",
        ]
        if pick(3) { return Array(one(of: special).utf8) }
        var text = pick(4) ? "-" : ""
        text += pick(5) ? "0" : "\(Int.random(in: 1...9, using: &random))" + digits(upTo: pick(3) ? 25 : 3)
        if pick(3) { text += "." + digits(from: 1, upTo: pick(4) ? 25 : 4) }
        if pick(5) { text += one(of: ["e", "E", "e-", "E+"]) + digits(from: 1, upTo: 2) }
        return Array(text.utf8)
    }

    mutating func string() -> [UInt8] {
        let pieces = [
            "a", "b", "key", "\u{E9}", "e\u{301}", "\u{65E5}\u{672C}", "\u{1F600}", "\u{7F}", "\u{2028}", "\u{FFFE}",
            #"\""#, #"\\"#, #"\/"#, #"\b\f\n\r\t"#, #"\u0000"#, #"\u0061"#, #"\u00e9"#, #"\uD83D\uDE00"#, #"\uffff"#,
            "\u{212A}",
            "a longer piece of text ",
        ]
        let flaws = [#"\uD800"#, #"\uDC00"#, #"\uD800\u0041"#, #"\x"#, #"\u12"#, "\u{1}", "\n", "\u{0}"]
        var text: [UInt8] = [UInt8(ascii: "\"")]
        for _ in 0..<Int.random(in: 0..<4, using: &random) { text += Array(one(of: pieces).utf8) }
        if flaw() { text += Array(one(of: flaws).utf8) }
        if flaw() { text.append(one(of: [0x80, 0xC3, 0xED, 0xFF])) }
        return text + [UInt8(ascii: "\"")]
    }

    /// Returns an object, in which a name may occur twice.
    mutating func table(depth: Int, members: (inout DocumentGenerator) -> [[UInt8]] = { _ in [] }) -> [UInt8] {
        var parts = members(&self)
        for _ in 0..<(pick(12) ? Int.random(in: 17..<40, using: &random) : Int.random(in: 0..<4, using: &random)) {
            let name = pick(3) ? string() : Array("\"n\(UInt16(truncatingIfNeeded: random.next()))\"".utf8)
            parts.append(name + space() + [UInt8(ascii: ":")] + space() + value(depth: depth - 1))
        }
        if flaw(), let again = parts.first { parts.append(again) }
        if flaw() { parts += ["\"caf\u{E9}\":0", "\"cafe\u{301}\":1"].map { Array($0.utf8) } }
        return joined(parts, "{", "}")
    }

    private mutating func list(depth: Int) -> [UInt8] {
        let elements = (0..<Int.random(in: 0..<5, using: &random)).map { _ in value(depth: depth - 1) }
        return joined(elements, "[", "]")
    }

    mutating func joined(_ parts: [[UInt8]], _ open: Unicode.Scalar, _ close: Unicode.Scalar) -> [UInt8] {
        var text = [UInt8(ascii: open)] + space()
        for (index, part) in parts.enumerated() {
            if index > 0 { text += [UInt8(ascii: ",")] + space() }
            text += part + space()
        }
        if flaw() { text += [UInt8(ascii: ",")] + space() }
        return text + [UInt8(ascii: close)]
    }

    private mutating func space() -> [UInt8] {
        pick(4) ? Array(one(of: [" ", "\n", "\t", "\r\n", "   "]).utf8) : []
    }

    private mutating func digits(from least: Int = 0, upTo most: Int) -> String {
        (0..<Int.random(in: least...most, using: &random)).map { _ in "\(Int.random(in: 0...9, using: &random))" }
            .joined()
    }

    /// Returns the same text in another encoding.
    private mutating func wide(_ text: [UInt8]) -> [UInt8] {
        let units = Array(String(decoding: text, as: UTF8.self).utf16)
        let isBig = pick(2)
        let mark: [UInt16] = pick(2) ? [0xFEFF] : []
        return (mark + units).flatMap { unit in
            let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
            return isBig ? [high, low] : [low, high]
        }
    }

    private mutating func mutate(_ text: inout [UInt8]) {
        guard !text.isEmpty else { return }
        let index = Int.random(in: 0..<text.count, using: &random)
        let significant = Array("\"\\{}[],:0-.eu \u{0}".utf8) + [0x80, 0xC3, 0xED, 0xFF]
        switch Int.random(in: 0..<5, using: &random) {
        case 0: text[index] = UInt8(truncatingIfNeeded: random.next())
        case 1: text[index] = one(of: significant)
        case 2: text.insert(one(of: significant), at: index)
        case 3: text.remove(at: index)
        default: text.removeSubrange(index...)
        }
    }

    mutating func flaw(_ part: Int = 1) -> Bool { pick(flawEvery * part) }

    mutating func pick(_ oneOf: Int) -> Bool { Int.random(in: 0..<oneOf, using: &random) == 0 }

    mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }
}

/// An `Info` with members of every kind, as a plugin may define it.
struct TypedInfo: Decodable, Equatable {
    enum Level: String, Decodable { case low, high }
    enum Shape: Decodable, Equatable {
        case circle(radius: Double)
        case none
    }
    struct Inner: Decodable, Equatable {
        let a: Int?
        let next: [Inner]?
    }

    let int: Int?
    let byte: UInt8?
    let small: Int16?
    let wide: UInt64?
    let double: Double?
    let float: Float?
    let bool: Bool?
    let text: String?
    let level: Level?
    let shape: Shape?
    let list: [Int?]?
    let doubles: [Double]?
    let table: [String: Int8]?
    let inner: Inner?

    static let names = [
        "int", "byte", "small", "wide", "double", "float", "bool", "text", "level", "shape", "list", "doubles", "table",
        "inner",
    ]

    static func foundation(_ document: [UInt8]) -> TypedInfo? {
        try? JSONDecoder().decode(TypedInfo.self, from: Data(document))
    }

    static func signalbox(_ document: [UInt8]) throws(BodyError) -> TypedInfo {
        try Body(json: Bytes(document), limits: MessageLimits(bytes: 1 << 20, depth: 512)).decode(TypedInfo.self)
    }

    /// Returns a document that often decodes, because most members have a value that their type may accept.
    static func document(_ generator: inout DocumentGenerator) -> [UInt8] {
        let text = generator.table(depth: 2) { generator in
            (0..<Int.random(in: 0..<5, using: &generator.random)).map { _ in member(&generator) }
        }
        return generator.finished(text)
    }

    private static func member(_ generator: inout DocumentGenerator) -> [UInt8] {
        let name = generator.one(of: names)
        return Array("\"\(name)\":".utf8) + (generator.pick(12) ? generator.value(depth: 1) : value(name, &generator))
    }

    private static func value(_ name: String, _ generator: inout DocumentGenerator) -> [UInt8] {
        if generator.pick(10) { return Array("null".utf8) }
        switch name {
        case "bool": return Array(generator.one(of: ["true", "false"]).utf8)
        case "text": return generator.string()
        case "level": return Array(generator.one(of: [#""low""#, #""h\u0069gh""#, #""none""#]).utf8)
        case "shape": return Array(generator.one(of: [#"{"circle":{"radius":1.5}}"#, #"{"none":{}}"#, "{}"]).utf8)
        case "list", "doubles":
            let elements = (0..<Int.random(in: 0..<4, using: &generator.random)).map { _ in generator.number() }
            return generator.joined(elements, "[", "]")
        case "table": return generator.joined([Array("\"k\":".utf8) + generator.number()], "{", "}")
        case "inner": return Array(#"{"a":7,"next":[{"a":null,"next":[]}]}"#.utf8)
        default: return generator.number()
        }
    }
}

extension DocumentComparison<TypedInfo> {
    /// A comparison of `JSONDecoder` with the decoder of bodies.
    static var infos: DocumentComparison {
        DocumentComparison(foundation: TypedInfo.foundation, signalbox: TypedInfo.signalbox, isLazy: true)
    }
}
