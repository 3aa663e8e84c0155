import SignalboxCore

/// Text as JSON that stays on one line and does nothing to a terminal.
enum JSONText {
    private static let digits = Array("0123456789abcdef".utf8)

    /// A string with its quotes; control characters, line separators and direction characters are `\uXXXX`.
    static func string(_ text: String) -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(text.utf8.count + 2)
        append(text, to: &json)
        return json
    }

    /// Appends what ``string(_:)`` makes.
    static func append(_ text: String, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        // Most characters need no escape, and copying runs of them is what makes a million lines, or a long one, quick.
        var text = text
        text.withUTF8 { bytes in
            var start = 0
            var index = 0
            while index < bytes.count {
                if isPlain(bytes[index]) {
                    index += 1
                    continue
                }
                json.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<index]))
                let isASCII = bytes[index] < 0x80
                index += isASCII ? appendASCII(bytes[index], to: &json) : appendScalar(bytes[index...], to: &json)
                start = index
            }
            json.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start...]))
        }
        json.append(UInt8(ascii: "\""))
    }

    /// Valid JSON without white space between its parts, with the same escapes as ``string(_:)``.
    ///
    /// Numbers and escapes stay as they were written.
    static func compact(_ json: some Sequence<UInt8>) -> [UInt8] {
        var line: [UInt8] = []
        var isInString = false
        var isEscaped = false
        for scalar in String(decoding: Array(json), as: UTF8.self).unicodeScalars {
            if isInString {
                line += LineEscape.isUnsafe(scalar) ? escape(scalar) : Array(String(scalar).utf8)
                isInString = isEscaped || scalar != "\""
                isEscaped = !isEscaped && scalar == "\\"
            } else if !scalar.properties.isWhitespace {
                line += Array(String(scalar).utf8)
                isInString = scalar == "\""
            }
        }
        return line
    }

    /// Whether the byte is a character that needs no escape: printable ASCII but the quote and the backslash.
    private static func isPlain(_ byte: UInt8) -> Bool {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return false }
        return byte &- 0x20 < 0x5F
    }

    /// Appends one of the ASCII characters that need an escape.
    private static func appendASCII(_ byte: UInt8, to json: inout [UInt8]) -> Int {
        json.append(UInt8(ascii: "\\"))
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            json.append(byte)
        } else {
            json += "u00".utf8
            json.append(digits[Int(byte >> 4)])
            json.append(digits[Int(byte & 15)])
        }
        return 1
    }

    /// Appends the first character of a text, which is none of ASCII.
    ///
    /// - Returns: how many bytes it has in the text.
    private static func appendScalar(_ text: Slice<UnsafeBufferPointer<UInt8>>, to json: inout [UInt8]) -> Int {
        var iterator = text.makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else {
            json += UTF8.encodedReplacementCharacter
            return 1
        }
        json += LineEscape.isUnsafe(scalar) ? escape(scalar) : Array(text.prefix(UTF8.width(scalar)))
        return UTF8.width(scalar)
    }

    private static func escape(_ scalar: Unicode.Scalar) -> [UInt8] {
        let value = Int(scalar.value)
        return Array("\\u".utf8) + [12, 8, 4, 0].map { digits[(value >> $0) & 15] }
    }
}
