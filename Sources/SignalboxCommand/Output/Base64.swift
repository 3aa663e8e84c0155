/// Base64 with padding (RFC 4648, section 4).
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The bytes as ASCII text.
    static func text(_ bytes: some RandomAccessCollection<UInt8>) -> String {
        // A body may be as large as a message: its bytes are not asked for one by one.
        bytes.withContiguousStorageIfAvailable { text(of: $0) } ?? Array(bytes).withUnsafeBufferPointer { text(of: $0) }
    }

    private static func text(of bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
            var end = 0
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - start)
                var word = UInt32(bytes[start]) << 16
                if count > 1 { word |= UInt32(bytes[start + 1]) << 8 }
                if count > 2 { word |= UInt32(bytes[start + 2]) }
                text[end] = alphabet[Int(word >> 18 & 63)]
                text[end + 1] = alphabet[Int(word >> 12 & 63)]
                text[end + 2] = count > 1 ? alphabet[Int(word >> 6 & 63)] : UInt8(ascii: "=")
                text[end + 3] = count > 2 ? alphabet[Int(word & 63)] : UInt8(ascii: "=")
                end += 4
            }
            return end
        }
    }
}
