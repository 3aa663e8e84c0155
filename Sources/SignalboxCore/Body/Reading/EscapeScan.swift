extension ByteScan {
    /// Reads the escape whose backslash is at `index` (RFC 8259 section 7).
    ///
    /// - Returns: the character's scalar value and the position after the escape, or after the pair of escapes.
    func escape(at index: Int) throws(BodyFault) -> (scalar: UInt32, end: Int) {
        let letter = byte(index &+ 1)
        if letter == UInt8(ascii: "u") { return try unicodeEscape(at: index) }
        guard let scalar = ByteScan.shortEscape(letter) else {
            throw BodyFault(code: index &+ 1 < end ? .invalidEscape : .unexpectedEnd, position: index)
        }
        return (scalar, index &+ 2)
    }

    private static func shortEscape(_ letter: UInt8) -> UInt32? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): UInt32(letter)
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "r"): 0x0D
        default: nil
        }
    }

    private func unicodeEscape(at index: Int) throws(BodyFault) -> (scalar: UInt32, end: Int) {
        let unit = try hexUnit(index &+ 2, of: index)
        switch unit {
        case 0xD800...0xDBFF:
            guard byte(index &+ 6) == UInt8(ascii: "\\"), byte(index &+ 7) == UInt8(ascii: "u") else {
                throw BodyFault(code: .loneSurrogate, position: index)
            }
            let low = try hexUnit(index &+ 8, of: index &+ 6)
            guard (0xDC00...0xDFFF).contains(low) else { throw BodyFault(code: .loneSurrogate, position: index) }
            return (0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00), index &+ 12)
        case 0xDC00...0xDFFF:
            throw BodyFault(code: .loneSurrogate, position: index)
        default:
            return (unit, index &+ 6)
        }
    }

    private func hexUnit(_ start: Int, of escape: Int) throws(BodyFault) -> UInt32 {
        var unit: UInt32 = 0
        for index in start..<start + 4 {
            guard let digit = ByteScan.hexDigit(byte(index)) else {
                throw BodyFault(code: index < end ? .invalidEscape : .unexpectedEnd, position: escape)
            }
            unit = unit << 4 | digit
        }
        return unit
    }

    private static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}
