import AdapterSupport
import SignalboxRoutes

/// The URL of a WebSocket server: `ws://host:port/path?query`, or `wss://` for TLS (RFC 6455, section 3).
public struct WebSocketURL: Sendable, Hashable, CustomStringConvertible {
    /// The host as parsed by `URLText`: a name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port, which is never 0. If the URL does not specify one, the port is 80, or 443 with TLS.
    public let port: UInt16
    /// Whether the scheme is `wss`.
    public let isSecure: Bool
    /// The path and query, percent-encoded and starting with `/`. Descriptions omit it, because it may contain a token.
    let target: String

    /// Parses a URL with `URLText`, according to the WHATWG rules.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidURL`. The error never repeats the text. The URL is invalid if:
    ///   - `URLText` rejects it.
    ///   - Its scheme is neither `ws` nor `wss`.
    ///   - It has no host, or it has port 0.
    ///   - It contains a user, a password or a fragment (RFC 6455, section 3).
    ///   - Its path and query are longer than 2,032 bytes, or its host and port are longer than 119.
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

    /// The scheme, host and port, without the path and query.
    public var description: String { "\(isSecure ? "wss" : "ws")://\(host):\(port)" }

    /// The value of the `Host` header, without the scheme's default port (RFC 6455, 4.1).
    var hostHeader: String {
        port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
    }

    /// The host as system calls expect it, without brackets.
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
/// Unless you use ``anything``, the certificate must match the host. The host can be a name of at most 119 bytes or an
/// IPv4 address, but not an IPv6 address, because the certificate could not be checked.
public enum WebSocketTrust: Sendable, Hashable {
    /// Certificates signed by an authority that the system trusts.
    case system
    /// Certificates signed by an authority in this PEM file, and no others.
    case authority(file: String)
    /// Any certificate, for any host. Anyone on the network path can then read and change messages, so use this only in
    /// tests.
    case anything
}

/// A certificate and its private key, stored in PEM files.
public struct WebSocketIdentity: Sendable, Hashable {
    /// The certificate and its chain.
    public let certificateFile: String
    /// The private key, without a passphrase.
    public let keyFile: String

    /// Creates an identity from the paths of its files.
    ///
    /// A server reads the files at the start of each run, and a feed before each connection. Renewed files take effect
    /// then.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
