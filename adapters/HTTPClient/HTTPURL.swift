import AdapterSupport
import SignalboxRoutes

/// The URL of a request: `http://host:port/path?query`, or `https://` for TLS.
package struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    /// The host as parsed by `URLText`: a name, an IPv4 address, or an IPv6 address in brackets.
    package let host: String
    /// The port, which is never 0.
    package let port: UInt16
    package let isSecure: Bool
    /// The path and query, percent-encoded and starting with `/`. Descriptions omit it, because it may contain a token.
    let target: String

    /// The maximum length of path and query.
    package static let targetLimit = 8_192

    /// Parses a URL according to the WHATWG rules.
    ///
    /// - Throws: ``HTTPURLError``, which never repeats the text.
    package init(_ text: String) throws(HTTPURLError) {
        let url: URLText
        do throws(URLTextError) { url = try URLText(text) } catch { throw HTTPURLError(error) }
        guard url.scheme == "http" || url.scheme == "https" else { throw HTTPURLError(HTTPURLError.noScheme) }
        guard let host = url.host, HostName.isValid(HTTPURL.name(in: host)) else {
            throw HTTPURLError("the URL has no usable host: write https://host/path")
        }
        guard url.fragment == nil else {
            throw HTTPURLError("the server never sees a fragment: leave out # and the text after it")
        }
        let target = (url.path.isEmpty ? "/" : url.path) + (url.query.map { "?" + $0 } ?? "")
        guard target.utf8.count <= HTTPURL.targetLimit, target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw HTTPURLError("path and query must have at most \(HTTPURL.targetLimit) bytes")
        }
        isSecure = url.scheme == "https"
        port = url.port ?? (isSecure ? 443 : 80)
        guard port != 0 else { throw HTTPURLError("port 0 is not valid: use 1 to 65535") }
        self.host = host
        self.target = target
    }

    /// The scheme, host and port, without path and query.
    package var description: String { "\(isSecure ? "https" : "http")://\(host):\(port)" }

    /// The whole URL, rebuilt from its parts, so that no other parser finds another host in it.
    var text: String { description + target }

    /// Returns the URL of a path below this one, with the same query.
    ///
    /// - Parameter path: Further segments, such as `/v1/traces`.
    package func appending(path: String) throws(HTTPURLError) -> HTTPURL {
        let query = target.firstIndex(of: "?") ?? target.endIndex
        let base = target[..<query]
        return try HTTPURL(self.description + (base.last == "/" ? base.dropLast() : base) + path + target[query...])
    }

    /// Whether the server is on this machine.
    package var isLocal: Bool { NumericAddress.isLoopback(host: host) }

    /// Whether a request to the other URL reaches the same server in the same way.
    func hasOrigin(of other: HTTPURL) -> Bool {
        isSecure == other.isSecure && host == other.host && port == other.port
    }

    private static func name(in host: String) -> String {
        host.first == "[" ? String(host.dropFirst().dropLast()) : host
    }
}

/// The reason why text cannot be the URL of a request.
package struct HTTPURLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What to write instead. The URL is never repeated.
    package let description: String

    fileprivate static let noScheme = "the URL must begin with https://, or http:// without TLS"

    init(_ description: String) {
        self.description = description
    }

    fileprivate init(_ error: URLTextError) {
        description =
            switch error.reason {
            case .empty, .missingScheme: HTTPURLError.noScheme
            case .userinfo:
                "the URL must not contain a user name or password, because logs show URLs: use the header Authorization"
            default: "the URL cannot be used: \(error)"
            }
    }
}
