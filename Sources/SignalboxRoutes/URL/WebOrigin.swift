/// The origin of a page: its scheme, host and port, normalized (RFC 6454, section 4).
///
/// An opaque origin (`null`: a `data:` page, a sandboxed frame, a file) cannot be represented, so no rule can allow it.
public struct WebOrigin: Sendable, Hashable {
    /// The scheme in lower case, without the colon.
    public let scheme: String
    /// A lowercase ASCII domain, an IPv4 address, or an IPv6 address in brackets. Never empty.
    public let host: String
    /// The port, including a default port; `nil` for a scheme that has none.
    public let port: UInt16?

    /// Schemes whose pages have an opaque origin.
    private static let opaque: Set<String> = [
        "about", "blob", "content", "data", "file", "filesystem", "intent", "jar", "javascript", "livescript", "mailto",
        "mocha", "urn", "vbscript", "view-source",
    ]
}

extension WebOrigin {
    /// Parses an origin in the form that browsers send and people write: `https://app.example`,
    /// `capacitor://localhost`.
    ///
    /// The letter case of scheme and host is ignored, and the default port may be present or absent.
    ///
    /// - Throws: ``URLTextError``: `notAnOrigin` for `null`, a scheme with opaque origins, a text without a host, or
    ///   anything after the port, even a single slash. Any other error of ``URLText``.
    public init(_ text: String) throws(URLTextError) {
        guard text != "null" else {
            throw URLTextError(.notAnOrigin, at: 0, "null is not an origin; no rule can name it")
        }
        let url = try URLText(text)
        let authority = text.utf8.dropFirst(url.components.schemeEnd + 3)
        if let end = authority.firstIndex(where: ByteSet.authorityEnd.contains) {
            let offset = text.utf8.distance(from: text.utf8.startIndex, to: end)
            throw URLTextError(.notAnOrigin, at: offset, "an origin ends after the host and port")
        }
        guard !WebOrigin.opaque.contains(url.scheme), let host = url.host, !host.isEmpty else {
            throw URLTextError(.notAnOrigin, at: 0, "expected a scheme and a host, such as https://app.example")
        }
        let port = url.port ?? URLScheme(url.scheme.utf8).defaultPort
        let lowered = host.utf8.map(\.asciiLowercase)
        self.init(scheme: url.scheme, host: String(decoding: lowered, as: UTF8.self), port: port)
    }
}

extension WebOrigin: CustomStringConvertible {
    /// The origin as a browser sends it, without the default port.
    public var description: String {
        let own = URLScheme(scheme.utf8).defaultPort
        guard let port, port != own else { return "\(scheme)://\(host)" }
        return "\(scheme)://\(host):\(port)"
    }
}

extension WebOrigin: Encodable {
    /// Encodes the origin as a browser sends it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension URLText {
    /// The origin of a page at this URL, or `nil` if it is opaque: for files and for every non-special scheme.
    public var origin: WebOrigin? {
        guard isSpecial, let host, !host.isEmpty, scheme != "file" else { return nil }
        return WebOrigin(scheme: scheme, host: host, port: port ?? URLScheme(scheme.utf8).defaultPort)
    }
}
