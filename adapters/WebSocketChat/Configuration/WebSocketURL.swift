import AdapterThreads
import SignalboxRoutes

/// Where a client connects to: `ws://host:port/path?query`, or `wss://` for TLS. RFC 6455, section 3.
public struct WebSocketURL: Sendable, Hashable, CustomStringConvertible {
    /// The host as `URLText` reads it: a name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port, at least 1; 80 or 443 where none is written.
    public let port: UInt16
    /// Whether the scheme is `wss`.
    public let isSecure: Bool
    /// Path and query, percent-encoded, beginning with `/`. A query may hold a token, so no description shows it.
    let target: String

    /// Reads a URL as `URLText` does, by the rules of the WHATWG.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidURL`, which never repeats the text: another scheme, no host, a user or a
    ///   password, a fragment (RFC 6455, section 3), port 0, a path and query of more than 2,032 bytes together, a host and
    ///   port of more than 119, or what `URLText` refuses.
    public init(_ text: String) throws(WebSocketChatError) {
        let url: URLText
        do throws(URLTextError) {
            url = try URLText(text)
        } catch {
            throw WebSocketURL.fault(WebSocketURL.sentence(error))
        }
        guard url.scheme == "ws" || url.scheme == "wss" else {
            throw WebSocketURL.fault(WebSocketURL.noScheme)
        }
        guard let host = url.host, !host.isEmpty else {
            throw WebSocketURL.fault("the URL has no host: write ws://host:port/path")
        }
        guard url.fragment == nil else {
            throw WebSocketURL.fault("a WebSocket URL has no fragment (RFC 6455, 3): leave out # and what follows")
        }
        let target = (url.path.isEmpty ? "/" : url.path) + (url.query.map { "?" + $0 } ?? "")
        guard target.utf8.count <= ClientTarget.pathLimit else {
            throw WebSocketURL.fault("path and query have at most \(ClientTarget.pathLimit) bytes")
        }
        isSecure = url.scheme == "wss"
        port = url.port ?? (isSecure ? 443 : 80)
        guard port != 0 else { throw WebSocketURL.fault("nobody can connect to port 0: use 1 to 65535") }
        self.host = host
        self.target = target
        guard hostHeader.utf8.count <= ClientTarget.hostLimit else {
            throw WebSocketURL.fault("host and port have at most \(ClientTarget.hostLimit) bytes")
        }
    }

    /// Scheme, host and port; neither path nor query.
    public var description: String { "\(isSecure ? "wss" : "ws")://\(host):\(port)" }

    /// The header `Host`, whose port is left out where it is the scheme's own (RFC 6455, 4.1).
    var hostHeader: String {
        port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
    }

    /// The host as the system's calls take it: without brackets.
    var hostName: String {
        host.first == "[" ? String(host.dropFirst().dropLast()) : host
    }

    private static let noScheme = "a WebSocket URL begins with ws://, or wss:// for TLS"

    private static func sentence(_ error: URLTextError) -> String {
        switch error.reason {
        case .empty, .missingScheme: noScheme
        case .userinfo:
            "the URL must not hold a user name or password, as URLs are shown in logs and process lists: use a bearer "
                + "token from an environment variable or a file"
        default: "the URL cannot be used: \(error)"
        }
    }

    private static func fault(_ detail: String) -> WebSocketChatError {
        WebSocketChatError(.invalidURL, detail)
    }
}

extension WebSocketURL {
    /// Whether the server is on this machine.
    package var isLocal: Bool { NumericAddress.isLoopback(host: host) }
}

/// Whose certificates a client believes over `wss://`. The certificate must be the host's in each case but the last:
/// one for its name, with at most 119 bytes, or for its IPv4 address; IPv6 addresses cannot be checked.
public enum WebSocketTrust: Sendable, Hashable {
    /// Those signed by an authority that the system trusts.
    case system
    /// Those signed by an authority of this PEM file, and no others.
    case authority(file: String)
    /// Any, and for any host: whoever is on the way can read and change everything. For tests of one's own servers alone.
    case anything
}

/// An own certificate and its private key, as PEM files.
public struct WebSocketIdentity: Sendable, Hashable {
    /// The certificate, with the chain that leads to it.
    public let certificateFile: String
    /// Its private key, without a passphrase.
    public let keyFile: String

    /// Files by their paths. A server reads them when a run begins, a feed with its thread's first connection that shows
    /// them: renewed files count from the next ``WebSocketThread`` or run on.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
