import SignalboxCore

/// A value that an expression has for an action.
enum ExpressionValue: Sendable {
    /// The body has no such member, the source no such fact, or the topic no such capture.
    case missing
    case null
    case boolean(Bool)
    case integer(Int64)
    /// A number with a fraction or exponent, or a whole number beyond 64 bits, rounded to 53 bits.
    case number(Double)
    case text(String)
    /// A list or an object.
    case container(Body)

    init(_ body: Body) {
        switch body.shape {
        case .null: self = .null
        case .boolean: self = (try? body.decode(Bool.self)).map(ExpressionValue.boolean) ?? .missing
        case .number: self = ExpressionValue(number: body.jsonText)
        case .text: self = .text((try? body.decode(String.self)) ?? ExpressionValue.base64(body))
        case .list, .object: self = .container(body)
        }
    }

    /// - Parameter literal: A number in JSON's form. Its value may exceed every number type.
    private init(number literal: String) {
        self = Int64(literal).map(ExpressionValue.integer) ?? Double(literal).map(ExpressionValue.number) ?? .missing
    }

    static func text(orMissing text: String?) -> ExpressionValue { text.map(ExpressionValue.text) ?? .missing }

    private static func base64(_ body: Body) -> String { (try? body.decode(Bytes.self)).map(Base64.encoded) ?? "" }

    var isTrue: Bool { if case .boolean(true) = self { true } else { false } }

    var isMissing: Bool { if case .missing = self { true } else { false } }
}

extension ExpressionValue {
    func isEqual(to other: ExpressionValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.boolean(let left), .boolean(let right)): left == right
        // Bytes are compared, so that equality does not depend on a version of Unicode.
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.integer(let left), .integer(let right)): left == right
        default: double.flatMap { left in other.double.map { left == $0 } } ?? false
        }
    }

    /// Returns whether the value is less, or `nil` if the values have no order.
    func isLess(than other: ExpressionValue) -> Bool? {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): left < right
        case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
        default: double.flatMap { left in other.double.map { left < $0 } }
        }
    }

    private var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The number of a text's bytes in UTF-8, or of the elements or members of a container.
    var length: ExpressionValue {
        switch self {
        case .text(let text): .integer(Int64(text.utf8.count))
        case .container(let body): .integer(Int64(body.count))
        default: .missing
        }
    }

    /// The value as a number, if it is one or a text in the form of one in JSON.
    var converted: ExpressionValue {
        switch self {
        case .integer, .number: self
        case .text(let text):
            if let body = try? Body(json: Bytes(text)), body.shape == .number {
                ExpressionValue(body)
            } else {
                .missing
            }
        default: .missing
        }
    }
}

extension ExpressionValue {
    /// The value as compact JSON, or `nil` if it is missing.
    var json: Bytes? {
        switch self {
        case .missing: nil
        case .null: Bytes("null")
        case .boolean(let value): Bytes("\(value)")
        case .integer(let value): Bytes("\(value)")
        // A number beyond the range of a double came from JSON text, whose value is not kept here.
        case .number(let value): value.isFinite ? try? BodyWriter.write(value) : nil
        case .text(let text): Bytes(JSONText.quoted(text))
        case .container(let body): body.json
        }
    }

    /// The value for an explanation, at most 64 characters of it.
    var shown: String {
        guard let json else { return "missing" }
        let text = String(decoding: EscapedJSON.compact(json.prefix(256)), as: UTF8.self)
        return text.count > 64 ? "\(text.prefix(64))…" : text
    }
}

extension String {
    /// Returns whether the text has the bytes of another. The time grows only with the length of both (Knuth, Morris and Pratt),
    /// because senders may choose both.
    func containsBytes(of part: String) -> Bool {
        let wanted = Array(part.utf8)
        guard !wanted.isEmpty else { return true }
        var lengths = [0]
        for byte in wanted.dropFirst() {
            lengths.append(String.advanced(lengths.last ?? 0, by: byte, in: wanted, lengths))
        }
        var matched = 0
        for byte in utf8 {
            matched = String.advanced(matched, by: byte, in: wanted, lengths)
            if matched == wanted.count { return true }
        }
        return false
    }

    /// Returns how many bytes match after one more byte.
    private static func advanced(_ matched: Int, by byte: UInt8, in wanted: [UInt8], _ lengths: [Int]) -> Int {
        var matched = matched
        while matched > 0, wanted[matched] != byte { matched = lengths[matched - 1] }
        return wanted[matched] == byte ? matched + 1 : matched
    }
}
