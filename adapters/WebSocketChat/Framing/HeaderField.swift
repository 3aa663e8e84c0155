/// A header of a request or an answer that cannot break out of its line (RFC 9110, 5.1 and 5.5).
struct HeaderField: Hashable, Sendable {
    let name: String
    let value: String

    /// `nil` when the name is no token, or the value has a control character.
    init?(_ name: String, _ value: String) {
        guard HeaderField.isToken(name), HeaderField.isLine(value) else { return nil }
        self.name = name
        self.value = value
    }

    static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    static func isLine(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Whether the text is ASCII that can be seen, spaces included.
    static func isPrintable(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// Whether the text can stand in a request line or a `Host` header.
    static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
