import Foundation
import MQTTPush
import SignalboxCore

/// A format for received messages, in the letters that `mosquitto_sub -F` uses.
///
/// The text is parsed once, when the command starts. The sequences that begin with `%` are the parts of a message, those
/// with `@` are parts of the local time as in strftime(3), and those with `\` are characters that are hard to type.
struct MessageTemplate: Sendable, Hashable {
    /// The largest width of a field. It bounds the output for one message.
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

    /// Whether the text has an escape character of its own, such as for colours.
    var hasEscape: Bool {
        segments.contains { if case .literal(let text) = $0 { text.contains(0x1B) } else { false } }
    }

    /// Returns the output for a message without a newline, or `nil` if the template needs the payload as JSON and it is
    /// not JSON.
    func bytes(for message: TemplateMessage) -> [UInt8]? {
        var bytes: [UInt8] = []
        for segment in segments {
            switch segment {
            case .literal(let text): bytes += text
            case .field(let field, let width):
                guard let value = message.value(of: field) else { return nil }
                bytes += width.applied(to: value, isNumber: field.isNumber)
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
private enum MessageField: Character, Sendable {
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

// MARK: - Values

/// A message whose parts a template shows. A WebSocket message has only a payload and a time.
struct TemplateMessage {
    let payload: RawBody
    var topic: String?
    var qos = 0
    var isRetained = false
    var contentType: String?
    var correlationData: [UInt8]?
    var responseTopic: String?
    var userProperties: [MQTTMessage.UserProperty] = []
    var payloadFormat: UInt8?
    var expiry: UInt32?
    fileprivate let time: LocalTime

    init(_ payload: RawBody, receivedAt: WallTime) {
        self.payload = payload
        time = LocalTime(receivedAt)
    }

    /// - Parameter facts: The origin of a message with a topic, or `nil`.
    init(_ payload: RawBody, _ facts: PushFacts?, receivedAt: WallTime) {
        self.init(payload, receivedAt: receivedAt)
        guard let facts else { return }
        (topic, qos, isRetained) = (facts.topic, facts.qos, facts.retained)
        contentType = facts.properties?.contentType
        correlationData = facts.properties?.correlationData
        responseTopic = facts.properties?.responseTopic
        userProperties = facts.properties?.userProperties ?? []
        payloadFormat = facts.properties?.payloadFormat
        expiry = facts.properties?.messageExpiry
    }

    /// Returns the value of a field, or `nil` if the payload must be JSON and is not. A part that the message does not
    /// have is empty. A subscriber asks for no topic aliases and subscription identifiers, and the library does not pass
    /// on the message's id, so these are 0 or empty.
    fileprivate func value(of field: MessageField) -> [UInt8]? {
        switch field {
        case .topicAlias, .subscriptionID: []
        case .messageID: [UInt8(ascii: "0")]
        case .contentType: text(contentType)
        case .correlationData: correlationData ?? []
        case .expiry: text(expiry.map { "\($0)" })
        case .payloadFormat: text(payloadFormat.map { "\($0)" })
        case .responseTopic: text(responseTopic)
        case .userProperties: text(userProperties.map { "\($0.name):\($0.value)" }.joined(separator: " "))
        case .time: time.text(Array("%Y-%m-%dT%H:%M:%S%z".utf8))
        case .unixTime: text("\(time.seconds).") + time.nanoseconds(digits: 9)
        case .length: text("\(payload.bytes.count)")
        case .payload: Array(payload.bytes)
        case .qos: text("\(qos)")
        case .retained: text(isRetained ? "1" : "0")
        case .topic: text(topic)
        case .lowerHexadecimal: TemplateMessage.hexadecimal(payload.bytes)
        case .upperHexadecimal: TemplateMessage.hexadecimal(payload.bytes, digits: "0123456789ABCDEF")
        case .json: object { $0.add("payload", content: payload.bytes) }
        case .jsonWithPayload:
            payload.kind == .json ? object { $0.add("payload", json: EscapedJSON.compact(payload.bytes)) } : nil
        }
    }

    private func text(_ text: String?) -> [UInt8] { text.map { Array($0.utf8) } ?? [] }

    static func hexadecimal(_ bytes: some Sequence<UInt8>, digits: String = "0123456789abcdef") -> [UInt8] {
        let digits = Array(digits.utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }
    }

    private func object(_ addPayload: (inout JSONObject) -> Void) -> [UInt8] {
        var object = JSONObject()
        let fraction = String(decoding: time.nanoseconds(digits: 6), as: UTF8.self)
        let (date, zone) = (time.text(Array("%Y-%m-%dT%H:%M:%S".utf8)), time.text(Array("%z".utf8)))
        object.add("tst", String(decoding: date + text(".\(fraction)") + zone, as: UTF8.self))
        object.add("topic", topic)
        object.add("qos", qos)
        object.add("retain", isRetained ? 1 : 0)
        object.add("payloadlen", payload.bytes.count)
        let properties = properties
        if properties.count > 2 { object.add("properties", json: properties) }
        addPayload(&object)
        return object.bytes
    }

    /// The MQTT 5 properties as a JSON object.
    private var properties: [UInt8] {
        var object = JSONObject()
        object.add("content-type", contentType)
        if let correlationData { object.add("correlation-data", content: Bytes(correlationData)) }
        object.add("response-topic", responseTopic)
        if !userProperties.isEmpty {
            object.add("user-properties") { object in
                // A JSON object must not repeat a name, so the values of a repeated name are a list.
                let names = userProperties.map(\.name)
                for (index, name) in names.enumerated() where names.firstIndex(of: name) == index {
                    let values = userProperties.filter { $0.name == name }.map(\.value)
                    if values.count == 1 { object.add(name, values[0]) } else { object.add(name, texts: values) }
                }
            }
        }
        if let payloadFormat { object.add("payload-format-indicator", Int(payloadFormat)) }
        if let expiry { object.add("message-expiry-interval", Int(expiry)) }
        return object.bytes
    }
}

/// A time in the zone of the process.
struct LocalTime {
    let seconds: Int64
    private let nanoseconds: Int
    private var parts = tm()

    init(_ time: WallTime) {
        (seconds, nanoseconds) = (time.seconds, Int(time.nanoseconds))
        var count = time_t(time.seconds)
        localtime_r(&count, &parts)
    }

    /// Formats the time. Text of more than 255 bytes is empty.
    func text(_ format: [UInt8]) -> [UInt8] {
        var parts = parts
        let format = format.map { CChar(bitPattern: $0) } + [0]
        return [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { strftime($0, text.count, format, &parts) } ?? 0
            }
        }
    }

    /// Returns the part of the second, with leading zeros.
    func nanoseconds(digits: Int) -> [UInt8] {
        Array(String(1_000_000_000 + nanoseconds).utf8.dropFirst().prefix(digits))
    }
}
