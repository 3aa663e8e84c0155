import SignalboxRoutes

/// A proxy that carries TCP connections: an HTTP proxy (CONNECT; RFC 9110, 9.3.6), or a SOCKS proxy (RFC 1928).
package struct ProxyServer: Sendable, Hashable, CustomStringConvertible {
    /// How the proxy is asked for a connection.
    package enum Kind: String, Sendable, Hashable {
        case http
        /// Version 5, in which the proxy resolves the server's name.
        case socks5
    }

    package let kind: Kind
    /// A host name or an address. An IPv6 address is written without brackets.
    package let host: String
    package let port: UInt16

    package init(_ kind: Kind, host: String, port: UInt16) {
        self.kind = kind
        self.host = host
        self.port = port
    }

    /// Creates a proxy from a URL: `http://host:port` or `socks5://host:port`. Without a port, it is 80 or 1080.
    package init(url text: String) throws(ProxyURLProblem) {
        guard !text.contains("@") else { throw .hasUserInfo }
        guard let url = try? URLText(text), let kind = Kind(rawValue: url.scheme),
            ["", "/"].contains(url.path), url.query == nil, url.fragment == nil, var host = url.host
        else { throw .malformed }
        if host.first == "[" { host = String(host.dropFirst().dropLast()) }
        let port = url.port ?? (kind == .http ? 80 : 1_080)
        guard port != 0, HostName.isValid(host) else { throw .malformed }
        self.init(kind, host: host, port: port)
    }

    /// The proxy's URL, as it appears in logs and errors.
    package var description: String {
        "\(kind.rawValue)://\(ProxyDestination(host: host, port: port))"
    }

    /// Whether the proxy is on this machine.
    package var isLocal: Bool { NumericAddress.isLoopback(host: host) }
}

/// Why a text is not the URL of a proxy.
package enum ProxyURLProblem: Error {
    case malformed, hasUserInfo

    /// The reason, which never quotes the text, because it may contain a password.
    package var reason: String {
        switch self {
        case .malformed: "a proxy's URL must be http://host:port or socks5://host:port, without path and query"
        case .hasUserInfo:
            "a proxy's URL must not contain a user name or password, because logs and process lists show URLs: set the "
                + "user separately, and its password from an environment variable or a file"
        }
    }
}

/// The server that a proxy must connect to.
package struct ProxyDestination: Sendable, Hashable, CustomStringConvertible {
    /// A host name, which only the proxy resolves, or an address. An IPv6 address is written without brackets.
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// The text `host:port`. An IPv6 address is in brackets.
    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// A user and a password for a proxy, read for one connection. It has no description, so that no log can contain it.
package struct ProxyLogin: Sendable, Equatable {
    package let user: String
    package let password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// Returns why a proxy of this kind cannot be sent the user's name, or `nil` if it can. The text continues a
    /// sentence that starts with "the user name of the proxy".
    package static func problem(ofUser user: String, for kind: ProxyServer.Kind) -> String? {
        if kind == .http, user.utf8.contains(UInt8(ascii: ":")) { return "contains a colon (RFC 7617, 2)" }
        return problem(of: user, for: kind)
    }

    /// Returns why a proxy of this kind cannot be sent the text, or `nil` if it can. The text continues a sentence.
    package static func problem(of text: String, for kind: ProxyServer.Kind) -> String? {
        if text.isEmpty { return "is empty" }
        let limit = kind == .socks5 ? 255 : 1_024
        if text.utf8.count > limit { return "is longer than \(limit) bytes" }
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        return isPlain ? nil : "contains control characters"
    }
}
