/// How RFC 3986 reads a URL, by its Appendix B, written without a look at how the package reads one.
struct RFC3986Reading {
    let scheme: String?
    /// As it is written, user and port included.
    let authority: String?
    let path: String

    init(_ text: String) {
        var rest = Substring(text)
        if let end = rest.firstIndex(where: { ":/?#".contains($0) }), rest[end] == ":", end > rest.startIndex {
            scheme = rest[..<end].lowercased()
            rest = rest[rest.index(after: end)...]
        } else {
            scheme = nil
        }
        if rest.hasPrefix("//") {
            let inside = rest.dropFirst(2).prefix { !"/?#".contains($0) }
            authority = String(inside)
            rest = rest.dropFirst(2).dropFirst(inside.count)
        } else {
            authority = nil
        }
        path = String(rest.prefix { $0 != "?" && $0 != "#" })
    }

    /// The host without user and port, in lower case, its escapes taken away (sections 3.2 and 6.2.2).
    var host: String? {
        guard var host = authority.map({ Substring($0) }) else { return nil }
        if let at = host.lastIndex(of: "@") { host = host[host.index(after: at)...] }
        if !host.hasPrefix("["), let colon = host.firstIndex(of: ":") { host = host[..<colon] }
        if host.hasPrefix("["), let bracket = host.firstIndex(of: "]") { host = host[...bracket] }
        return Self.decoded(host).lowercased()
    }

    /// The path's pieces between slashes after section 5.2.4, each decoded once.
    var segments: [String] {
        guard !path.isEmpty else { return [] }
        let isRooted = path.hasPrefix("/")
        var kept: [String] = []
        let pieces = path.dropFirst(isRooted ? 1 : 0).split(separator: "/", omittingEmptySubsequences: false)
        for (place, piece) in pieces.enumerated() {
            let isLast = place == pieces.count - 1
            // Section 6.2.2.2: an escaped full stop is a full stop before the dots are taken away.
            switch piece.replacing("%2e", with: ".").replacing("%2E", with: ".") {
            case ".": if isLast { kept.append("") }
            case "..":
                if !kept.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            default: kept.append(Self.decoded(piece))
            }
        }
        return kept
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let value = UInt8(String(Substring(digits)), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
