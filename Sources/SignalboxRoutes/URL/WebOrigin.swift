/// A page's normalized origin: a scheme, a host and a port (RFC 6454, section 4).
///
/// Use a `WebOrigin` to list the sites whose pages may send messages. Some pages, such as a `data:` page, a sandboxed
/// frame or a file, have an opaque origin (`null`). This type cannot represent an opaque origin, so no rule can allow
/// one.
public struct WebOrigin: Sendable, Hashable {
    /// The scheme in lower case, without the colon.
    public let scheme: String
    /// The host: a lowercase ASCII domain, an IPv4 address, or an IPv6 address in brackets. Never empty.
    public let host: String
    /// The port, even if it is the scheme's default port, or `nil` if no port is given and the scheme has no default
    /// port.
    public let port: UInt16?

    /// The schemes whose pages have an opaque origin.
    private static let opaque: Set<String> = [
        "about", "blob", "content", "data", "file", "filesystem", "intent", "jar", "javascript", "livescript", "mailto",
        "mocha", "urn", "vbscript", "view-source",
    ]
}

extension WebOrigin {
    /// Parses an origin as browsers send it and people write it, such as `https://app.example` or
    /// `capacitor://localhost`.
    ///
    /// The case of the scheme and host is ignored. The default port may be present or absent.
    ///
    /// - Throws: ``URLTextError``. The reason is `notAnOrigin` for `null`, for a scheme with opaque origins, for a text
    ///   without a host, and for anything after the port, even a single slash. Otherwise, the reason is the one that
    ///   ``URLText`` reports.
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
        guard url.userInfo == nil else {
            throw URLTextError(.userinfo, at: 0, "an origin has no user name; leave it out")
        }
        guard url.host?.utf8.contains(UInt8(ascii: "%")) != true else {
            throw URLTextError(.notAnOrigin, at: 0, "an origin has an ASCII host without escapes")
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
    /// The origin as a browser sends it, without a default port.
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
    /// The origin of a page at this URL, or `nil` if the origin is opaque, as for files and all non-special schemes.
    public var origin: WebOrigin? {
        guard isSpecial, let host, !host.isEmpty, scheme != "file" else { return nil }
        return WebOrigin(scheme: scheme, host: host, port: port ?? URLScheme(scheme.utf8).defaultPort)
    }
}
