/// Base64 with padding (RFC 4648, section 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the bytes as text.
    package static func encoded(_ bytes: Bytes) -> String {
        bytes.withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
                var end = 0
                for start in stride(from: 0, to: bytes.count, by: 3) {
                    let count = min(3, bytes.count - start)
                    var group = UInt32(bytes[start]) << 16
                    if count > 1 { group |= UInt32(bytes[start + 1]) << 8 }
                    if count > 2 { group |= UInt32(bytes[start + 2]) }
                    for position in 0..<4 {
                        let digit = alphabet[Int(group >> UInt32(18 - position * 6) & 63)]
                        text[end + position] = position <= count ? digit : UInt8(ascii: "=")
                    }
                    end += 4
                }
                return end
            }
        }
    }

    /// Returns the decoded bytes, or `nil` if the text is not canonical base64. Canonical text is padded, contains only
    /// characters of the base64 alphabet, and has only zero bits after the last byte.
    package static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
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
        // One padding character leaves two unused bits after two bytes, and two leave four unused bits after one byte.
        guard group & (1 << UInt32(padding * 2) - 1) == 0 else { return nil }
        if padding == 1 { bytes.append(UInt8(truncatingIfNeeded: group >> 10)) }
        if padding > 0 { bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(padding * 2))) }
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
