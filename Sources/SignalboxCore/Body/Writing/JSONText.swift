/// Compact JSON text in the making.
package struct JSONText {
    /// What was written so far.
    package private(set) var bytes: [UInt8] = []

    /// No text yet.
    package init() {}

    /// Appends a byte of what is JSON already.
    package mutating func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// Appends what is JSON already.
    package mutating func append(literal: String) {
        bytes.append(contentsOf: literal.utf8)
    }

    /// Appends what is JSON already.
    package mutating func append(json: Bytes) {
        bytes.append(contentsOf: json)
    }

    /// Appends a string in quotes. Escaped are what RFC 8259 demands, and the control characters U+007F to U+009F,
    /// which terminals obey.
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

    /// Appends bytes as a string in quotes, by RFC 4648 section 4.
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
