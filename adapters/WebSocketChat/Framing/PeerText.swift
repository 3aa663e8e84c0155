/// Makes texts from peers and libraries safe to display.
enum PeerText {
    /// Returns up to `limit` bytes of the text, trimmed and with control characters replaced by `?`.
    static func sanitized(_ text: String, limit: Int) -> String {
        Array(text.utf8).withUnsafeBytes { sanitized($0, limit: limit) }
    }

    /// Returns up to `limit` of the given bytes, up to the first NUL, sanitized in the same way.
    static func sanitized(_ bytes: UnsafeRawBufferPointer, limit: Int) -> String {
        var bytes = bytes.prefix(limit).prefix { $0 != 0 }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return String(decoding: bytes.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
    }
}
