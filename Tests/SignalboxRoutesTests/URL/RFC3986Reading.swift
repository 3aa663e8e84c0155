/// A reader of URLs after RFC 3986, Appendix B, written independently of the package's own reader.
struct RFC3986Reading {
    private typealias Piece = ArraySlice<UInt8>

    let scheme: String?
    private let authority: Piece?
    private let path: Piece

    init(_ text: String) {
        var rest = Array(text.utf8)[...]
        let name = rest.prefix { !Self.isOne(of: ":/?#", $0) }
        if rest.dropFirst(name.count).first == UInt8(ascii: ":"), !name.isEmpty {
            scheme = Self.text(name).lowercased()
            rest = rest.dropFirst(name.count + 1)
        } else {
            scheme = nil
        }
        if rest.starts(with: "//".utf8) {
            let inside = rest.dropFirst(2).prefix { !Self.isOne(of: "/?#", $0) }
            authority = inside
            rest = rest.dropFirst(2 + inside.count)
        } else {
            authority = nil
        }
        path = rest.prefix { !Self.isOne(of: "?#", $0) }
    }

    /// The host without user and port, in lower case and decoded (sections 3.2 and 6.2.2).
    var host: String? {
        guard var host = authority else { return nil }
        if let at = host.lastIndex(of: UInt8(ascii: "@")) { host = host[(at + 1)...] }
        if host.first == UInt8(ascii: "["), let bracket = host.firstIndex(of: UInt8(ascii: "]")) {
            return Self.text(host[...bracket]).lowercased()
        }
        return Self.decoded(host.prefix { $0 != UInt8(ascii: ":") }).lowercased()
    }

    /// The path's segments after section 5.2.4, each decoded once.
    var segments: [String] {
        guard !path.isEmpty else { return [] }
        var kept: [String] = []
        let slash = UInt8(ascii: "/")
        let pieces = (path.first == slash ? path.dropFirst() : path).split(
            separator: slash,
            omittingEmptySubsequences: false
        )
        for (index, piece) in pieces.enumerated() {
            let isLast = index == pieces.count - 1
            // Section 6.2.2.2: an escaped full stop is decoded before dot segments are removed.
            switch Self.decoded(piece) {
            case ".": if isLast { kept.append("") }
            case "..":
                if !kept.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            case let text: kept.append(text)
            }
        }
        return kept
    }

    private static func isOne(of ends: StaticString, _ byte: UInt8) -> Bool {
        ends.withUTF8Buffer { $0.contains(byte) }
    }

    private static func text(_ bytes: Piece) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func decoded(_ piece: Piece) -> String {
        var bytes: [UInt8] = []
        var rest = piece
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, let value = UInt8(text(rest.prefix(2)), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return text(bytes[...])
    }
}
