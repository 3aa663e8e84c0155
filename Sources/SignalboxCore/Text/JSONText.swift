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
            let utf8 = UnsafeRawBufferPointer(utf8)
            var start = 0
            var position = 0
            while position < utf8.count {
                position = JSONText.endOfPlainRun(in: utf8, from: position)
                guard position < utf8.count else { break }
                let (scalar, length) = JSONText.scalar(at: position, of: utf8)
                if let escape = JSONText.escape(scalar) {
                    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: utf8[start..<position]))
                    append(literal: escape)
                    start = position + length
                }
                position += length
            }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: utf8[start...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Returns the position of the first byte that is not a printable ASCII character without an escape. Nearly all texts consist of
    /// such characters, so eight are looked at together.
    private static func endOfPlainRun(in utf8: UnsafeRawBufferPointer, from start: Int) -> Int {
        var position = start
        while position + 8 <= utf8.count {
            let word = utf8.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let controls = (word &- each(0x20)) & ~word
            let others = zeros(word ^ each(0x22)) | zeros(word ^ each(0x5C)) | zeros(word ^ each(0x7F))
            guard (word | controls | others) & each(0x80) == 0 else { break }
            position += 8
        }
        while position < utf8.count, isPlain(utf8[position]) { position += 1 }
        return position
    }

    private static func each(_ byte: UInt64) -> UInt64 { byte &* 0x0101_0101_0101_0101 }

    /// Returns a word whose highest bit of a byte is set if the byte, or one before it, is zero.
    private static func zeros(_ word: UInt64) -> UInt64 { (word &- each(0x01)) & ~word }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Returns the scalar at a position of valid UTF-8, and the number of its bytes.
    private static func scalar(at position: Int, of utf8: UnsafeRawBufferPointer) -> (Unicode.Scalar, Int) {
        let first = utf8[position]
        guard first >= 0x80 else { return (Unicode.Scalar(first), 1) }
        let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
        var value = UInt32(first) & (0x7F >> UInt32(length))
        for offset in 1..<length { value = value << 6 | UInt32(utf8[position + offset] & 0x3F) }
        return (Unicode.Scalar(value) ?? "\u{FFFD}", length)
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
