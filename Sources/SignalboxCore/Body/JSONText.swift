/// A builder for compact JSON text.
package struct JSONText {
    /// The bytes written.
    package private(set) var bytes: [UInt8] = []

    /// Creates an empty text.
    package init() {}

    /// Appends a byte of JSON unchanged.
    package mutating func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// Appends JSON text unchanged.
    package mutating func append(literal: String) {
        bytes.append(contentsOf: literal.utf8)
    }

    /// Appends JSON bytes unchanged.
    package mutating func append(json: Bytes) {
        bytes.append(contentsOf: json)
    }

    /// Appends a quoted string. Escapes the characters that RFC 8259 requires, and the control characters U+007F to
    /// U+009F, which terminals interpret.
    package mutating func append(string: String) {
        append(UInt8(ascii: "\""))
        var previous: UInt8 = 0
        for byte in string.utf8 {
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F {
                appendEscaped(byte)
            } else if previous == 0xC2, byte < 0xA0 {
                bytes.removeLast()
                appendHex(byte)
            } else {
                append(byte)
            }
            previous = byte
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case 0x08: append(literal: "\\b")
        case 0x09: append(literal: "\\t")
        case 0x0A: append(literal: "\\n")
        case 0x0C: append(literal: "\\f")
        case 0x0D: append(literal: "\\r")
        case UInt8(ascii: "\""): append(literal: "\\\"")
        case UInt8(ascii: "\\"): append(literal: "\\\\")
        default: appendHex(byte)
        }
    }

    private mutating func appendHex(_ byte: UInt8) {
        let digits = String(byte, radix: 16)
        append(literal: digits.utf8.count == 1 ? "\\u000\(digits)" : "\\u00\(digits)")
    }

    /// Appends `data` as a quoted base64 string (RFC 4648 section 4).
    mutating func append(base64 data: Bytes) {
        let alphabet = JSONText.alphabet
        append(UInt8(ascii: "\""))
        var index = 0
        while index < data.count {
            let rest = min(3, data.count - index)
            var group: UInt32 = 0
            for offset in 0..<3 {
                group = group << 8 | (offset < rest ? UInt32(data[index + offset]) : 0)
            }
            for position in 0..<4 {
                let digit = alphabet[Int(group >> UInt32(18 - position * 6) & 63)]
                append(position <= rest ? digit : UInt8(ascii: "="))
            }
            index += 3
        }
        append(UInt8(ascii: "\""))
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}

/// A JSON value under construction. Containers share their node, so every container for it adds to the same value.
final class EncodedNode {
    private enum Content {
        case nothing
        case literal(String)
        case string(String)
        case array([EncodedNode])
        case object([(name: String, node: EncodedNode)])
    }

    private var content = Content.nothing

    var count: Int {
        guard case .array(let elements) = content else { return 0 }
        return elements.count
    }

    func set(literal: String) { content = .literal(literal) }

    func set(string: String) { content = .string(string) }

    func makeArray() {
        guard case .array = content else { return content = .array([]) }
    }

    func makeObject() {
        guard case .object = content else { return content = .object([]) }
    }

    func appendElement() -> EncodedNode {
        var elements: [EncodedNode] = []
        if case .array(let present) = content { elements = present }
        content = .nothing
        let node = EncodedNode()
        elements.append(node)
        content = .array(elements)
        return node
    }

    func appendMember(_ name: String) -> EncodedNode {
        var members: [(name: String, node: EncodedNode)] = []
        if case .object(let present) = content { members = present }
        content = .nothing
        let node = EncodedNode()
        members.append((name, node))
        content = .object(members)
        return node
    }

    /// Writes the value recursively.
    ///
    /// - Parameter depth: The number of arrays and objects that may still be opened.
    /// - Throws: `tooDeep`.
    func write(to text: inout JSONText, depth: Int) throws(BodyError) {
        switch content {
        case .nothing: text.append(literal: "{}")
        case .literal(let literal): text.append(literal: literal)
        case .string(let string): text.append(string: string)
        case .array(let elements):
            let depth = try EncodedNode.below(depth)
            text.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                try element.write(to: &text, depth: depth)
            }
            text.append(UInt8(ascii: "]"))
        case .object(let members):
            try EncodedNode.write(members, to: &text, depth: EncodedNode.below(depth))
        }
    }

    private static func below(_ depth: Int) throws(BodyError) -> Int {
        guard depth > 0 else { throw BodyError(.tooDeep, path: "reply", detail: "expected fewer levels") }
        return depth - 1
    }

    /// Writes the members sorted by name. The last member with a given name wins.
    private static func write(
        _ members: [(name: String, node: EncodedNode)],
        to text: inout JSONText,
        depth: Int
    ) throws(BodyError) {
        let order = members.indices.sorted { left, right in
            let (one, other) = (members[left].name.utf8, members[right].name.utf8)
            return one.elementsEqual(other) ? left < right : one.lexicographicallyPrecedes(other)
        }
        text.append(UInt8(ascii: "{"))
        var isFirst = true
        for (position, index) in order.enumerated() {
            let member = members[index]
            if position + 1 < order.count, members[order[position + 1]].name.utf8.elementsEqual(member.name.utf8) {
                continue
            }
            if !isFirst { text.append(UInt8(ascii: ",")) }
            isFirst = false
            text.append(string: member.name)
            text.append(UInt8(ascii: ":"))
            try member.node.write(to: &text, depth: depth)
        }
        text.append(UInt8(ascii: "}"))
    }
}
