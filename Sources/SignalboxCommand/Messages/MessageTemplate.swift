/// A format for received messages, in the letters that `mosquitto_sub -F` uses.
///
/// The text is parsed once, when the command starts. The sequences that begin with `%` are the parts of a message, those
/// with `@` are parts of the local time as in strftime(3), and those with `\` are characters that are hard to type.
struct MessageTemplate: Sendable, Hashable {
    /// The largest width of a field.
    static let maximumWidth = 10_000

    fileprivate enum Segment: Sendable, Hashable {
        case literal([UInt8])
        case field(MessageField, FieldWidth)
        /// A conversion of strftime(3), such as `Y`.
        case time(UInt8)
        case nanoseconds
    }

    fileprivate let segments: [Segment]

    /// - Throws: ``MessageTemplateError`` that names the sequence which cannot be used.
    init(_ text: String) throws(MessageTemplateError) {
        var parser = TemplateParser(text)
        segments = try parser.segments()
    }

    /// Returns the output for a message without a newline, or `nil` if the template needs the payload as JSON and it is
    /// not JSON.
    ///
    /// - Parameter isTerminal: Whether control characters in the parts of the message are escaped. The text of the template
    ///   comes from the user and is not changed.
    func bytes(for message: TemplateMessage, isTerminal: Bool = false) -> [UInt8]? {
        var bytes: [UInt8] = []
        for segment in segments {
            switch segment {
            case .literal(let text): bytes += text
            case .field(let field, let width):
                guard let value = message.value(of: field) else { return nil }
                let shown = width.applied(to: value, isNumber: field.isNumber)
                bytes += RawOutput.auto.bytes(shown, isTerminal: isTerminal)
            case .time(let letter): bytes += message.time.text([UInt8(ascii: "%"), letter])
            case .nanoseconds: bytes += message.time.nanoseconds(digits: 9)
            }
        }
        return bytes
    }
}

/// A template that cannot be used. The description is a sentence for the user.
struct MessageTemplateError: Error, CustomStringConvertible {
    let description: String
}

/// A part of a message. The raw value is the letter after `%`.
enum MessageField: Character, Sendable {
    case topicAlias = "A"
    case contentType = "C"
    case correlationData = "D"
    case expiry = "E"
    case payloadFormat = "F"
    case time = "I"
    case json = "j"
    case jsonWithPayload = "J"
    case length = "l"
    case messageID = "m"
    case userProperties = "P"
    case payload = "p"
    case qos = "q"
    case responseTopic = "R"
    case retained = "r"
    case subscriptionID = "S"
    case topic = "t"
    case unixTime = "U"
    case lowerHexadecimal = "x"
    case upperHexadecimal = "X"

    /// Whether the flag `0` pads the field with zeros.
    var isNumber: Bool {
        switch self {
        case .topicAlias, .expiry, .payloadFormat, .length, .messageID, .subscriptionID, .lowerHexadecimal,
            .upperHexadecimal:
            true
        default: false
        }
    }

    /// Whether a width applies to the field.
    var takesWidth: Bool {
        switch self {
        case .correlationData, .json, .jsonWithPayload, .userProperties, .qos, .retained, .unixTime: false
        default: true
        }
    }

    /// Whether a width after `.` cuts the field. A payload is never cut.
    var takesMaximum: Bool {
        switch self {
        case .contentType, .time, .responseTopic, .topic: true
        default: false
        }
    }
}

/// The flags and widths between `%` and the letter. Widths count bytes, as in printf(3).
private struct FieldWidth: Sendable, Hashable {
    var isLeft = false
    var hasZeros = false
    var minimum = 0
    var maximum: Int?

    func applied(to value: [UInt8], isNumber: Bool) -> [UInt8] {
        let shown = maximum.map { Array(value.prefix($0)) } ?? value
        let zeros = hasZeros && !isLeft && isNumber
        let padding = [UInt8](repeating: UInt8(ascii: zeros ? "0" : " "), count: max(0, minimum - shown.count))
        return isLeft ? shown + padding : padding + shown
    }
}

// MARK: - Parsing

private struct TemplateParser {
    private var rest: ArraySlice<UInt8>
    private var literal: [UInt8] = []
    private var found: [MessageTemplate.Segment] = []
    private static let escapes: [Character: UInt8] = [
        "\\": 0x5C, "0": 0, "a": 7, "e": 0x1B, "n": 10, "r": 13, "t": 9, "v": 11,
    ]

    init(_ text: String) {
        rest = RawArguments.bytes(of: text)[...]
    }

    mutating func segments() throws(MessageTemplateError) -> [MessageTemplate.Segment] {
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"): try readField()
            case UInt8(ascii: "@"): try readTime()
            case UInt8(ascii: "\\"):
                let letter = try next("\\")
                guard let escape = TemplateParser.escapes[letter] else {
                    throw MessageTemplateError(
                        description: "'\\\(letter)' is not an escape; write \\\\ for a backslash"
                    )
                }
                literal.append(escape)
            default: literal.append(byte)
            }
        }
        endLiteral()
        return found
    }

    private mutating func readField() throws(MessageTemplateError) {
        var width = FieldWidth()
        while let flag = rest.first, flag == UInt8(ascii: "-") || flag == UInt8(ascii: "0") {
            if flag == UInt8(ascii: "-") { width.isLeft = true } else { width.hasZeros = true }
            rest.removeFirst()
        }
        width.minimum = try number() ?? 0
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            width.maximum = try number() ?? 0
        }
        let letter = try next("%")
        guard letter != "%" else { return literal.append(UInt8(ascii: "%")) }
        guard let field = MessageField(rawValue: letter) else {
            throw MessageTemplateError(
                description: "'%\(letter)' is not a part of a message; write %% for a percent sign"
            )
        }
        if !field.takesWidth { width = FieldWidth() }
        if !field.takesMaximum { width.maximum = nil }
        append(.field(field, width))
    }

    private mutating func readTime() throws(MessageTemplateError) {
        let letter = try next("@")
        switch letter {
        case "@": literal.append(UInt8(ascii: "@"))
        case "N": append(.nanoseconds)
        default:
            guard let byte = letter.asciiValue, letter.isLetter else {
                throw MessageTemplateError(description: "'@\(letter)' is not a part of a time; write @@ for '@'")
            }
            append(.time(byte))
        }
    }

    private mutating func number() throws(MessageTemplateError) -> Int? {
        var value: Int?
        while let digit = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) {
            rest.removeFirst()
            let next = (value ?? 0) * 10 + Int(digit - UInt8(ascii: "0"))
            guard next <= MessageTemplate.maximumWidth else {
                throw MessageTemplateError(description: "a width is at most \(MessageTemplate.maximumWidth)")
            }
            value = next
        }
        return value
    }

    /// Returns the character after the start of a sequence.
    private mutating func next(_ start: Character) throws(MessageTemplateError) -> Character {
        guard let byte = rest.popFirst() else {
            throw MessageTemplateError(description: "the text ends within a sequence that begins with '\(start)'")
        }
        let scalar = Unicode.Scalar(byte)
        guard scalar.isASCII, byte > 0x20, byte != 0x7F else {
            throw MessageTemplateError(
                description: "a letter must follow '\(start)'; write \(start)\(start) for '\(start)'"
            )
        }
        return Character(scalar)
    }

    private mutating func append(_ segment: MessageTemplate.Segment) {
        endLiteral()
        found.append(segment)
    }

    private mutating func endLiteral() {
        if !literal.isEmpty { found.append(.literal(literal)) }
        literal = []
    }
}
