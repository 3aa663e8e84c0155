/// Builds compact JSON text that stays on one line and cannot control a terminal.
package struct JSONText {
    /// The bytes written so far.
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
    package mutating func append(json: some Sequence<UInt8>) {
        bytes.append(contentsOf: json)
    }

    /// Appends a quoted string, escaping the characters that RFC 8259 requires to be escaped and those that are unsafe
    /// in a line.
    package mutating func append(string: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = string
        text.withUTF8 { utf8 in
            // Most characters need no escape, so runs of them are copied at once.
            var start = 0
            var end = 0
            for scalar in string.unicodeScalars {
                let position = end
                end += UTF8.width(scalar)
                guard let escape = JSONText.escape(scalar) else { continue }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<position]))
                append(literal: escape)
                start = end
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends an array or an object, each element or member of which the closure writes.
    package mutating func append<Parts: Sequence, Failure: Error>(
        _ parts: Parts,
        between open: Unicode.Scalar,
        and close: Unicode.Scalar,
        _ write: (Parts.Element, inout JSONText) throws(Failure) -> Void
    ) throws(Failure) {
        append(UInt8(ascii: open))
        for (index, part) in parts.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            try write(part, &self)
        }
        append(UInt8(ascii: close))
    }

    /// Returns the text as a quoted string.
    package static func quoted(_ text: String) -> String {
        var json = JSONText()
        json.append(string: text)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Returns the escape for a character within a string, or `nil` if the character needs no escape.
    package static func escape(_ scalar: Unicode.Scalar) -> String? {
        switch scalar {
        case "\u{8}": return "\\b"
        case "\t": return "\\t"
        case "\n": return "\\n"
        case "\u{C}": return "\\f"
        case "\r": return "\\r"
        case "\"": return "\\\""
        case "\\": return "\\\\"
        case _ where scalar.isUnsafeInLine:
            // No unsafe character is above U+FFFF.
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        default: return nil
        }
    }
}
