/// The one rule by which text of a URL or topic is read as a number or a truth value.
///
/// Nothing is trimmed and there is no other form. The body reader follows the same rule where a capture is decoded.
package enum ScalarText {
    /// The most bytes of a number that 64 bits with a sign hold.
    private static let mostBytes = 20

    /// The value of `-?(0|[1-9][0-9]*)`, or `nil` for any other text and for a value beyond 64 bits with a sign; `-0` is
    /// 0. No more than 21 bytes are read.
    package static func int64(_ text: some Collection<UInt8>) -> Int64? {
        var digits = text.prefix(mostBytes + 1)
        guard digits.count <= mostBytes else { return nil }
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        guard let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard byte.isASCIIDigit else { return nil }
            let digit = Int64(byte - UInt8(ascii: "0"))
            let (product, isOver) = value.multipliedReportingOverflow(by: 10)
            // Towards the sign from the first digit on: the smallest number has no counterpart above 0.
            let (sum, isOverToo) = product.addingReportingOverflow(isNegative ? -digit : digit)
            guard !isOver, !isOverToo else { return nil }
            value = sum
        }
        return value
    }

    /// The value of `true` or `false`, or `nil` for any other text.
    package static func bool(_ text: some Sequence<UInt8>) -> Bool? {
        if text.elementsEqual("true".utf8) { return true }
        if text.elementsEqual("false".utf8) { return false }
        return nil
    }
}
