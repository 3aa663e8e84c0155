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
    /// RFC 3986, section 3.1, from the second character on.
    static let scheme = letters.union(digits).union(ByteSet("+-."))
    /// What the domain of a special scheme may consist of: the letters, digits and hyphen of host names, and the
    /// underscore that some have. The WHATWG allows further signs, which no name in the DNS has.
    static let domain = letters.union(digits).union(ByteSet("-_."))
    /// RFC 3986, section 3.2.2, without escapes.
    static let registeredName = domain.union(ByteSet("~!$&'()*+,;="))

    // The percent-encode sets of the WHATWG's section 1.3, without control characters, which are refused before.
    static let escapedInFragment = ByteSet(" \"<>`")
    static let escapedInQuery = ByteSet(" \"#<>")
    static let escapedInSpecialQuery = escapedInQuery.union(ByteSet("'"))
    static let escapedInPath = escapedInQuery.union(ByteSet("?^`{}"))
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
