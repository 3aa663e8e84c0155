/// The bytes of a pre-shared key, which is written in hexadecimal digits.
enum SharedKey {
    /// The most bytes of a key, as OpenSSL takes them.
    static let longest = 256
    /// The fewest bytes of a key that cannot be guessed (RFC 9257, 6).
    static let shortest = 16

    /// - Returns: `nil` when the text is not an even number of 2 to 512 hexadecimal digits.
    static func bytes(of text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard (2...2 * longest).contains(digits.count), digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[place]), let low = value(digits[place + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
