/// A media type as `datacontenttype` has it (RFC 2045 section 5.1), its parameters passed over.
struct MediaType {
    /// Whether the subtype is `json` or ends in `+json`, in any letter case.
    let isJSON: Bool

    /// - Returns: `nil` when the text is not two tokens around a slash, with or without parameters behind them.
    init?(_ text: String) {
        let type = text.utf8.prefix { $0 != UInt8(ascii: ";") }
        guard let slash = type.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        var subtype = type[type.index(after: slash)...]
        while let last = subtype.last, last == 0x20 || last == 0x09 { subtype.removeLast() }
        guard MediaType.isToken(type[..<slash]), MediaType.isToken(subtype) else { return nil }
        let lower = subtype.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        isJSON = lower == Array("json".utf8) || lower.suffix(5) == Array("+json".utf8)[...]
    }

    private static func isToken(_ bytes: Substring.UTF8View) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && !separators.contains($0) }
    }

    private static let separators = Set(#"()<>@,;:\"/[]?="#.utf8)
}
