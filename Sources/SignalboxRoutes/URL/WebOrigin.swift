/// Who a page is: its scheme, host and port. RFC 6454, section 4, in normal form.
///
/// An opaque origin (`null`: a `data:` page, a sandboxed frame, a file) is none of these: it cannot be made, and so no
/// rule can allow it.
public struct WebOrigin: Sendable, Hashable {
    /// In lower case, without the colon.
    public let scheme: String
    /// A domain in lower case and ASCII, an IPv4 address, or an IPv6 address in brackets. Never empty.
    public let host: String
    /// The port, the scheme's own included; `nil` for a scheme that has none.
    public let port: UInt16?

    /// Schemes whose pages have no origin that tells one from another.
    private static let opaque: Set<String> = [
        "about", "blob", "content", "data", "file", "filesystem", "intent", "jar", "javascript", "livescript", "mailto",
        "mocha", "urn", "vbscript", "view-source",
    ]

    /// Reads an origin as browsers send it and people write it: `https://app.example`, `capacitor://localhost`.
    ///
    /// Letter case of scheme and host does not count, nor does the scheme's own port when it is written.
    ///
    /// - Throws: ``URLTextError``: `notAnOrigin` for `null`, for a scheme whose pages have no origin, for a text without a
    ///   host or with a path, a query or a fragment, even a single slash; else what a URL is refused for.
    public init(_ text: String) throws(URLTextError) {
        guard text != "null" else {
            throw URLTextError(.notAnOrigin, at: 0, "null stands for no origin; no rule can name it")
        }
        let url = try URLText(text)
        let authority = text.utf8.dropFirst(url.places.schemeEnd + 3)
        let end = authority.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        if let end {
            let offset = text.utf8.distance(from: text.utf8.startIndex, to: end)
            throw URLTextError(.notAnOrigin, at: offset, "an origin ends with host and port")
        }
        guard !WebOrigin.opaque.contains(url.scheme), let host = url.host, !host.isEmpty else {
            throw URLTextError(.notAnOrigin, at: 0, "a scheme and a host expected, such as https://app.example")
        }
        let port = url.port ?? URLScheme(url.scheme.utf8).defaultPort
        let lowered = host.utf8.map(\.asciiLowercase)
        self.init(scheme: url.scheme, host: String(decoding: lowered, as: UTF8.self), port: port)
    }

    init(scheme: String, host: String, port: UInt16?) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }
}

extension WebOrigin: CustomStringConvertible {
    /// As a browser sends it: without the scheme's own port.
    public var description: String {
        let own = URLScheme(scheme.utf8).defaultPort
        guard let port, port != own else { return "\(scheme)://\(host)" }
        return "\(scheme)://\(host):\(port)"
    }
}

extension URLText {
    /// The origin of a page at this URL, or `nil` where it is opaque: of files, and of every scheme that is not special.
    public var origin: WebOrigin? {
        guard isSpecial, let host, !host.isEmpty, scheme != "file" else { return nil }
        return WebOrigin(scheme: scheme, host: host, port: port ?? URLScheme(scheme.utf8).defaultPort)
    }
}
