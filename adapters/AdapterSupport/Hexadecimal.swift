extension Sequence<UInt8> {
    /// The bytes as lowercase hexadecimal digits, two per byte.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Creates the bytes that ``Swift/Sequence/hexadecimal`` writes as this text, or returns `nil` for any other text.
    package init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        reserveCapacity(digits.count / 2)
        for position in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[position].hexadecimalDigit, let low = digits[position + 1].hexadecimalDigit else {
                return nil
            }
            append(high << 4 | low)
        }
    }
}

extension UInt8 {
    /// The value of a lowercase hexadecimal digit, or `nil` for any other character.
    fileprivate var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
