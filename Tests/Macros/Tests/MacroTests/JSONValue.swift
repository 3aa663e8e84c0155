/// A JSON value that a test changes and writes.
indirect enum JSONValue {
    /// A literal as it is written: a number, a string with its quotes, `true`, `false` or `null`.
    case literal(String)
    case array([JSONValue])
    case object([(name: String, value: JSONValue)])

    var text: String {
        switch self {
        case .literal(let text): text
        case .array(let elements): "[\(elements.map(\.text).joined(separator: ","))]"
        case .object(let members): "{\(members.map { "\"\($0.name)\":\($0.value.text)" }.joined(separator: ","))}"
        }
    }

    var names: [String] {
        guard case .object(let members) = self else { return [] }
        return members.map(\.name)
    }

    func setting(_ name: String, to value: JSONValue?) -> JSONValue {
        guard case .object(var members) = self else { return self }
        guard let index = members.firstIndex(where: { $0.name == name }) else { return self }
        if let value { members[index].value = value } else { members.remove(at: index) }
        return .object(members)
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    init(stringLiteral text: String) { self = .literal(text) }
    init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(members.map { (name: $0.0, value: $0.1) })
    }
}

extension JSONValue {
    /// Values that some type accepts and most types refuse.
    static let probes: [JSONValue] = [
        "null", "true", "false", "0", "-0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "32768", "65536",
        "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551615",
        "18446744073709551616", "1.0", "0.1", "1e2", "1e400", "16777217", "9007199254740993", #""""#, #""a""#,
        #""low""#,
        #""1""#, #""a longer text \u00e9""#, [], ["1"], ["null"], [#""a""#], [[]], [:], ["a": "1"], ["value": #""a""#],
    ]

    /// Returns the value with each part, and the whole, replaced by each probe or left out.
    func variants() -> [JSONValue] {
        switch self {
        case .literal: return JSONValue.probes
        case .array(let elements):
            return elements.indices.reduce(into: JSONValue.probes) { all, index in
                var others = elements
                others.remove(at: index)
                all.append(.array(others))
                for variant in elements[index].variants() {
                    others = elements
                    others[index] = variant
                    all.append(.array(others))
                }
            }
        case .object(let members):
            return members.reduce(into: JSONValue.probes) { all, member in
                all.append(setting(member.name, to: nil))
                all += member.value.variants().map { setting(member.name, to: $0) }
            }
        }
    }

    /// Returns the value with one random change at a random depth.
    func mutated(using random: inout SplitMix64) -> JSONValue {
        if Int.random(in: 0..<4, using: &random) == 0 { return JSONValue.probes.randomElement(using: &random) ?? self }
        switch self {
        case .literal: return JSONValue.probes.randomElement(using: &random) ?? self
        case .array(var elements):
            guard let index = elements.indices.randomElement(using: &random) else { return ["1"] }
            switch Int.random(in: 0..<3, using: &random) {
            case 0: elements.remove(at: index)
            case 1: elements.append(elements[index])
            default: elements[index] = elements[index].mutated(using: &random)
            }
            return .array(elements)
        case .object(var members):
            guard let index = members.indices.randomElement(using: &random) else { return ["a": "1"] }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: members.remove(at: index)
            case 1: members.shuffle(using: &random)
            case 2 where !names.contains("unknown"): members.insert((name: "unknown", value: "0"), at: index)
            default: members[index].value = members[index].value.mutated(using: &random)
            }
            return .object(members)
        }
    }
}

/// A generator that returns the same random numbers in every run (Steele, Lea, Flood, 2014).
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
