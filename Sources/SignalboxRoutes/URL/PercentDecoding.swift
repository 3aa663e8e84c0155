/// Decodes percent escapes exactly once.
enum PercentDecoding {
    /// Decodes bytes that have already been validated.
    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "%")), let text = try? decoded(bytes, isRefused: { _ in false }) else {
            return String(decoding: bytes, as: UTF8.self)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the decoded bytes, which are UTF-8 without control characters.
    ///
    /// - Throws: `invalidEscape` or `notUTF8`, with a position that counts from the start of the whole array.
    static func checked(_ bytes: ArraySlice<UInt8>) throws(URLTextError) -> [UInt8] {
        try decoded(bytes) { $0 < 0x20 || $0 == 0x7F }
    }

    /// Decodes a name or value from a form, where a plus means a space.
    ///
    /// - Throws: `invalidEscape`, or `notUTF8` for invalid UTF-8 and for U+0000, with a position that counts from the
    ///   start of the whole array.
    static func formText(_ bytes: ArraySlice<UInt8>) throws(URLTextError) -> String {
        String(decoding: try decoded(bytes, plusIsSpace: true) { $0 == 0 }, as: UTF8.self)
    }

    /// Returns whether an escape stands for an ASCII control character.
    static func hasEscapedControl(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.indices.contains { index in
            guard bytes[index] == UInt8(ascii: "%"), let value = escape(bytes[(index + 1)...]) else { return false }
            return value < 0x20 || value == 0x7F
        }
    }

    private static func decoded(
        _ bytes: ArraySlice<UInt8>,
        plusIsSpace: Bool = false,
        isRefused: (UInt8) -> Bool
    ) throws(URLTextError) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "%") else {
                decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                index += 1
                continue
            }
            guard let value = escape(bytes[(index + 1)...]) else {
                throw URLTextError(.invalidEscape, at: index, "expected two hexadecimal digits after %")
            }
            guard !isRefused(value) else {
                throw URLTextError(.notUTF8, at: index, "an escaped control character")
            }
            decoded.append(value)
            index += 3
        }
        guard String(validating: decoded, as: UTF8.self) != nil else {
            throw URLTextError(.notUTF8, at: bytes.startIndex, "escapes that are not UTF-8")
        }
        return decoded
    }

    private static func escape(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard let high = digits.first?.hexValue, let low = digits.dropFirst().first?.hexValue else { return nil }
        return high << 4 | low
    }
}

/// A set of ASCII characters.
struct ByteSet: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ characters: String) {
        for byte in characters.utf8 where byte < 0x80 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
    }

    func union(_ other: ByteSet) -> ByteSet {
        var both = self
        both.low |= other.low
        both.high |= other.high
        return both
    }

    func contains(_ byte: UInt8) -> Bool {
        guard byte < 0x80 else { return false }
        return byte < 64 ? low >> UInt64(byte) & 1 == 1 : high >> UInt64(byte - 64) & 1 == 1
    }
}

extension ByteSet {
    private static let letters = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    private static let digits = ByteSet("0123456789")
    /// The characters allowed in a scheme after the first one (RFC 3986, section 3.1).
    static let scheme = letters.union(digits).union(ByteSet("+-."))
    /// The characters allowed in a domain if the scheme is special: letters, digits, hyphens, and the underscore, which
    /// some host names contain. The WHATWG allows further characters, which no name in the DNS contains.
    static let domain = letters.union(digits).union(ByteSet("-_."))
    /// The characters that end an authority.
    static let authorityEnd = ByteSet("/?#")
    /// The characters allowed in a registered name (RFC 3986, section 3.2.2), without escapes.
    static let registeredName = domain.union(ByteSet("~!$&'()*+,;="))

    // The WHATWG's percent-encode sets (section 1.3). They do not contain control characters, which have already been
    // rejected.
    static let escapedInFragment = ByteSet(" \"<>`")
    static let escapedInQuery = ByteSet(" \"#<>")
    static let escapedInSpecialQuery = escapedInQuery.union(ByteSet("'"))
    static let escapedInPath = escapedInQuery.union(ByteSet("?^`{}"))
    static let escapedInUserInfo = escapedInPath.union(ByteSet("/:;=@[\\]|"))
    static let escapedInOpaquePath = ByteSet("")
}

extension UInt8 {
    package var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
    package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var asciiLowercase: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }

    /// The value of a hexadecimal digit.
    var hexValue: UInt8? {
        if isASCIIDigit { return self - UInt8(ascii: "0") }
        let lower = self | 0x20
        guard (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(lower) else { return nil }
        return lower - UInt8(ascii: "a") + 10
    }

    static let upperHexDigits = Array("0123456789ABCDEF".utf8)
}
