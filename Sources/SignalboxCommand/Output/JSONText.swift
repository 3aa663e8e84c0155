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
        // Most texts need no escape, and copying bytes is what makes a million lines quick.
        var text = text
        let isCopied = text.withUTF8 { bytes in
            guard bytes.allSatisfy(isPlain) else { return false }
            json.append(contentsOf: bytes)
            return true
        }
        if !isCopied { appendEscaped(text, to: &json) }
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
        (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func appendEscaped(_ text: String, to json: inout [UInt8]) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": json += "\\\"".utf8
            case "\\": json += "\\\\".utf8
            case _ where LineEscape.isUnsafe(scalar): json += escape(scalar)
            default: json += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> [UInt8] {
        let value = Int(scalar.value)
        return Array("\\u".utf8) + [12, 8, 4, 0].map { digits[(value >> $0) & 15] }
    }
}
