/// Base64 of RFC 4648 section 4, in its one canonical form: padded, without line ends or other characters, and the bits
/// behind the last byte zero.
enum Base64Text {
    /// The bytes it stands for, or `nil` when the text is not of this form.
    static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var padding = 0
        while padding < 2, padding < text.count, text[text.count - 1 - padding] == UInt8(ascii: "=") { padding += 1 }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var group: UInt32 = 0
        for (position, character) in text.dropLast(padding).enumerated() {
            guard let digit = digit(character) else { return nil }
            group = group << 6 | digit
            guard position % 4 == 3 else { continue }
            for shift in [16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: group >> shift)) }
            group = 0
        }
        switch padding {
        case 1:
            guard group & 0b11 == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: group >> 10))
            bytes.append(UInt8(truncatingIfNeeded: group >> 2))
        case 2:
            guard group & 0b1111 == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: group >> 4))
        default: break
        }
        return bytes
    }

    private static func digit(_ character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
