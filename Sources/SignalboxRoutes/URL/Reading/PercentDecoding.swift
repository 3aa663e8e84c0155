/// Takes percent escapes away, exactly once.
enum PercentDecoding {
    /// The text of bytes that were checked before.
    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "%")) else { return String(decoding: bytes, as: UTF8.self) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = escape(rest) {
                decoded.append(value)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    /// The decoded bytes of a range, which are UTF-8 without control characters.
    ///
    /// - Throws: `invalidEscape` or `notUTF8`, with the place in `input`.
    static func checked(_ input: [UInt8], _ range: Range<Int>) throws(URLTextError) -> [UInt8] {
        try decoded(input, range) { $0 < 0x20 || $0 == 0x7F }
    }

    /// The text of one name or value of a form: a plus is a space.
    ///
    /// - Throws: `invalidEscape` or `notUTF8`, with the place in `input`; U+0000 is refused too.
    static func formText(_ input: [UInt8], _ range: Range<Int>) throws(URLTextError) -> String {
        String(decoding: try decoded(input, range, plusIsSpace: true) { $0 == 0 }, as: UTF8.self)
    }

    private static func decoded(
        _ input: [UInt8],
        _ range: Range<Int>,
        plusIsSpace: Bool = false,
        isRefused: (UInt8) -> Bool
    ) throws(URLTextError) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(range.count)
        var place = range.lowerBound
        while place < range.upperBound {
            let byte = input[place]
            guard byte == UInt8(ascii: "%") else {
                decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                place += 1
                continue
            }
            guard let value = escape(input[place + 1..<range.upperBound]) else {
                throw URLTextError(.invalidEscape, at: place, "two hexadecimal digits expected behind %")
            }
            guard !isRefused(value) else {
                throw URLTextError(.notUTF8, at: place, "an escaped control character")
            }
            decoded.append(value)
            place += 3
        }
        guard String(validating: decoded, as: UTF8.self) != nil else {
            throw URLTextError(.notUTF8, at: range.lowerBound, "escapes that are not UTF-8")
        }
        return decoded
    }

    private static func escape(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard let high = digits.first?.hexValue, let low = digits.dropFirst().first?.hexValue else { return nil }
        return high << 4 | low
    }
}
