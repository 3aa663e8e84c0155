import Signalbox
import SignalboxCore

/// A body whose texts have placeholders, such as `{/amount}`, for values of an action.
indirect enum BodyTemplate: Sendable, Hashable {
    /// A member of an object.
    struct Member: Sendable, Hashable {
        let name: String
        let value: BodyTemplate
    }

    /// A part of a text.
    enum Part: Sendable, Hashable {
        case text(String)
        case value(Expression)
    }

    /// JSON without placeholders.
    case literal(Bytes)
    /// A placeholder alone, which keeps the kind of its value.
    case value(Expression)
    /// A text with placeholders in it.
    case text([Part])
    case list([BodyTemplate])
    case object([Member])

    /// The maximum number of placeholders, texts, lists and objects of a template.
    static let maximumParts = 512
    /// The maximum number of lists and objects that may be open at once.
    static let maximumDepth = 32

    /// Creates a template from a text.
    ///
    /// - Throws: ``ExpressionError`` if a placeholder is malformed.
    init(text: String) throws(ExpressionError) {
        let parts = try BodyTemplate.parts(of: text)
        switch parts.count {
        case 0: self = .literal(Bytes("\"\""))
        case 1:
            switch parts[0] {
            case .text(let text): self = .literal(Bytes(JSONText.quoted(text)))
            case .value(let expression): self = .value(expression)
            }
        default: self = .text(parts)
        }
    }

    private static func parts(of text: String) throws(ExpressionError) -> [Part] {
        guard text.utf8.count <= Expression.maximumLength else {
            throw ExpressionError("a text with placeholders has at most \(Expression.maximumLength) bytes")
        }
        let bytes = Array(text.utf8)
        var (parts, plain, position) = ([Part](), [UInt8](), 0)
        func flush() {
            if !plain.isEmpty { parts.append(.text(String(decoding: plain, as: UTF8.self))) }
            plain = []
        }
        while position < bytes.count {
            let byte = bytes[position]
            let isDoubled = position + 1 < bytes.count && bytes[position + 1] == byte
            switch byte {
            case UInt8(ascii: "{") where !isDoubled:
                flush()
                let (expression, end) = try ExpressionParser.placeholder(in: bytes, from: position + 1)
                parts.append(.value(expression))
                position = end
                continue
            case UInt8(ascii: "}") where !isDoubled:
                throw ExpressionError("a '}' without '{'; a brace as text is written '{{' or '}}'", at: position)
            case UInt8(ascii: "{"), UInt8(ascii: "}"): position += 1
            default: break
            }
            plain.append(byte)
            position += 1
        }
        flush()
        return parts
    }
}

extension BodyTemplate {
    /// Returns the body for an action as JSON.
    ///
    /// A member whose value is missing is left out. Elsewhere, a missing value is `null`, and within a text nothing.
    ///
    /// - Parameter limit: The maximum number of bytes.
    /// - Throws: `PluginDeclined` if the body is larger.
    func body(for action: Action, limit: Int) throws(PluginDeclined) -> Bytes {
        var text = JSONText()
        try write(for: action, limit, to: &text)
        return Bytes(text.bytes)
    }

    private func write(for action: Action, _ limit: Int, to text: inout JSONText) throws(PluginDeclined) {
        switch self {
        case .literal(let json): text.append(json: json)
        case .value(let expression): text.append(json: expression.json(for: action) ?? Bytes("null"))
        case .text(let parts):
            var whole = ""
            for part in parts {
                whole += part.text(for: action)
                try BodyTemplate.check(whole.utf8.count, limit)
            }
            text.append(string: whole)
        case .list(let elements):
            try text.append(elements, between: "[", and: "]") { (element, text) throws(PluginDeclined) in
                try element.write(for: action, limit, to: &text)
            }
        case .object(let members):
            let present = members.filter { !$0.value.isMissing(for: action) }
            try text.append(present, between: "{", and: "}") { (member, text) throws(PluginDeclined) in
                text.append(string: member.name)
                text.append(UInt8(ascii: ":"))
                try member.value.write(for: action, limit, to: &text)
            }
        }
        try BodyTemplate.check(text.bytes.count, limit)
    }

    private func isMissing(for action: Action) -> Bool {
        if case .value(let expression) = self { expression.value(for: action).isMissing } else { false }
    }

    private static func check(_ size: Int, _ limit: Int) throws(PluginDeclined) {
        guard size <= limit else {
            throw PluginDeclined("the mapped body is larger than limits.message_bytes, which is \(limit)")
        }
    }
}

extension BodyTemplate.Part {
    fileprivate func text(for action: Action) -> String {
        switch self {
        case .text(let text): text
        case .value(let expression): expression.text(for: action)
        }
    }
}
