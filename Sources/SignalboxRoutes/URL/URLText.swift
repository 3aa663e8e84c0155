/// One URL, read once: what everything that decides about URLs looks at, so that no two of them read it differently.
///
/// The text is split by the rules of the [WHATWG](https://url.spec.whatwg.org), because the engines that open URLs use
/// them. Where RFC 3986 would read another host or another path the text is refused as `ambiguousURL`. Refused too, for
/// reasons of their own, are user names, control characters and hosts beyond ASCII, whose ASCII form (`xn--`) is taken.
///
/// Reading takes time that grows with the length alone.
public struct URLText: Sendable {
    /// The most bytes that a URL may have, as it is given and after it is normalised.
    public static let maximumLength = 65_536

    /// The URL in normal form, as the WHATWG writes it: ASCII, scheme and domain in lower case, no default port, no dot
    /// segments. This is what must be opened, so that what was decided about is what is loaded.
    public let text: String
    /// Whether the scheme is `http`, `https`, `ws`, `wss`, `ftp` or `file`: it then has a host by the rules of the web.
    public let isSpecial: Bool
    /// The port, or `nil` when there is none or it is the scheme's own.
    public let port: UInt16?
    let places: URLPlaces

    /// Reads an absolute URL.
    ///
    /// - Throws: ``URLTextError``: what is wrong and at which byte.
    public init(_ text: String) throws(URLTextError) {
        var reader = URLReader(text)
        try reader.read()
        self.init(reader)
    }

    init(_ reader: borrowing URLReader) {
        text = String(decoding: reader.output, as: UTF8.self)
        isSpecial = reader.isSpecial
        port = reader.port
        hasOpaquePath = reader.hasOpaquePath
        places = reader.places
        // Asked for by every handler and pattern, and so made once.
        scheme = String(decoding: reader.output[..<places.schemeEnd], as: UTF8.self)
        host = places.host.map { String(decoding: reader.output[$0], as: UTF8.self) }
    }

    /// The scheme in lower case, without the colon.
    public let scheme: String

    /// The host, or `nil` when the URL has none, as in `myapp:product/42` and `myapp:/product/42`.
    ///
    /// Of a special scheme: a domain in lower case and ASCII, an IPv4 address, or an IPv6 address in brackets; of `file`
    /// mostly empty. Of any other: ASCII as it was written, letter case included, or empty, as in `myapp:///product/42`.
    public let host: String?

    /// The path, still escaped: empty, or beginning with a slash; text of any form when ``hasOpaquePath``.
    public var path: String { piece(places.path) }

    /// Whether the path is no list of segments but any text, as in `mailto:x` and `myapp:product/42`.
    public let hasOpaquePath: Bool

    /// The path's pieces between slashes, percent-decoded exactly once: a slash that was escaped is in a segment, and
    /// separates nothing.
    ///
    /// `/a/b/` has `a`, `b` and an empty one, `/` an empty one, the empty path none. An opaque path is split in the same
    /// way.
    public var segments: [String] {
        guard !places.path.isEmpty else { return [] }
        let bytes = Array(text.utf8)
        var segments: [String] = []
        var start = places.path.lowerBound + (hasOpaquePath ? 0 : 1)
        for place in start..<places.path.upperBound where bytes[place] == UInt8(ascii: "/") {
            segments.append(PercentDecoding.text(bytes[start..<place]))
            start = place + 1
        }
        segments.append(PercentDecoding.text(bytes[start..<places.path.upperBound]))
        return segments
    }

    /// The query, still escaped and without `?`, or `nil` when there is none.
    public var query: String? { places.query.map { piece($0) } }

    /// The fragment, still escaped and without `#`, or `nil` when there is none.
    public var fragment: String? { places.fragment.map { piece($0) } }

    private func piece(_ range: Range<Int>) -> String {
        String(Substring(text.utf8.dropFirst(range.lowerBound).prefix(range.count)))
    }
}

extension URLText: Hashable {
    /// Equal when the normal forms are.
    public static func == (left: URLText, right: URLText) -> Bool {
        left.text == right.text
    }

    /// Hashes the normal form.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}

extension URLText: CustomStringConvertible {
    /// The normal form up to its query or fragment, which may hold a secret; `?…` or `#…` stands for them. ``text`` has
    /// all of it.
    public var description: String {
        guard let end = (places.query ?? places.fragment)?.lowerBound else { return text }
        return String(Substring(text.utf8.prefix(end))) + "…"
    }
}
