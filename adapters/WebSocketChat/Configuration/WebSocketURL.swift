import AdapterSupport
import SignalboxRoutes

/// The URL of a WebSocket server: `ws://host:port/path?query`, or `wss://` for TLS (RFC 6455, section 3).
public struct WebSocketURL: Sendable, Hashable, CustomStringConvertible {
    /// The host as `URLText` parses it: a name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port, at least 1. If the URL has none, it is 80, or 443 with TLS.
    public let port: UInt16
    /// Whether the scheme is `wss`.
    public let isSecure: Bool
    /// The path and query, percent-encoded, starting with `/`. Descriptions omit it, as it may contain a token.
    let target: String

    /// Parses a URL with `URLText`, by the rules of the WHATWG.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidURL`, which never repeats the text, for another scheme, a missing host,
    ///   a user or password, a fragment (RFC 6455, section 3), port 0, more than 2,032 bytes of path and query or 119
    ///   of host and port, or text that `URLText` rejects.
    public init(_ text: String) throws(WebSocketChatError) {
        let url: URLText
        do throws(URLTextError) {
            url = try URLText(text)
        } catch {
            throw WebSocketURL.invalid(WebSocketURL.sentence(error))
        }
        guard url.scheme == "ws" || url.scheme == "wss" else {
            throw WebSocketURL.invalid(WebSocketURL.noScheme)
        }
        guard let host = url.host, !host.isEmpty else {
            throw WebSocketURL.invalid("the URL has no host: write ws://host:port/path")
        }
        guard url.fragment == nil else {
            throw WebSocketURL.invalid(
                "a WebSocket URL has no fragment (RFC 6455, 3): leave out # and the text after it"
            )
        }
        let target = (url.path.isEmpty ? "/" : url.path) + (url.query.map { "?" + $0 } ?? "")
        guard target.utf8.count <= ClientTarget.pathLimit else {
            throw WebSocketURL.invalid("path and query must have at most \(ClientTarget.pathLimit) bytes")
        }
        isSecure = url.scheme == "wss"
        port = url.port ?? (isSecure ? 443 : 80)
        guard port != 0 else { throw WebSocketURL.invalid("port 0 is not valid: use 1 to 65535") }
        self.host = host
        self.target = target
        guard hostHeader.utf8.count <= ClientTarget.hostLimit else {
            throw WebSocketURL.invalid("host and port must have at most \(ClientTarget.hostLimit) bytes")
        }
    }

    /// The scheme, host and port, without path and query.
    public var description: String { "\(isSecure ? "wss" : "ws")://\(host):\(port)" }

    /// The `Host` header, without the scheme's default port (RFC 6455, 4.1).
    var hostHeader: String {
        port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
    }

    /// The host as system calls expect it, which is without brackets.
    var hostName: String {
        host.first == "[" ? String(host.dropFirst().dropLast()) : host
    }

    private static let noScheme = "a WebSocket URL must begin with ws://, or wss:// for TLS"

    private static func sentence(_ error: URLTextError) -> String {
        switch error.reason {
        case .empty, .missingScheme: noScheme
        case .userinfo:
            "the URL must not contain a user name or password, because logs and process lists show URLs: use a bearer "
                + "token from an environment variable or a file"
        default: "the URL cannot be used: \(error)"
        }
    }

    private static func invalid(_ detail: String) -> WebSocketChatError {
        WebSocketChatError(.invalidURL, detail)
    }
}

extension WebSocketURL {
    /// Whether the server is on this machine.
    package var isLocal: Bool { NumericAddress.isLoopback(host: host) }
}

/// The certificates that a client trusts over `wss://`.
///
/// Except with ``anything``, the certificate must match the host. The host can be a name of at most 119 bytes or an
/// IPv4 address. The certificate of an IPv6 address cannot be checked.
public enum WebSocketTrust: Sendable, Hashable {
    /// Certificates signed by an authority that the system trusts.
    case system
    /// Certificates signed by an authority of this PEM file only.
    case authority(file: String)
    /// Any certificate for any host. With this, anyone on the network path can read and change messages, so use it for
    /// tests only.
    case anything
}

/// A certificate and its private key, as PEM files.
public struct WebSocketIdentity: Sendable, Hashable {
    /// The certificate and its chain.
    public let certificateFile: String
    /// The private key, without a passphrase.
    public let keyFile: String

    /// Creates an identity from the paths of its files.
    ///
    /// A server reads the files at each run. A feed reads them when its thread makes its first connection with them.
    /// Renewed files therefore take effect with the next run of a server, or when a ``WebSocketThread`` starts again.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
