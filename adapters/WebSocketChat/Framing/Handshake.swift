import AdapterSupport
import SecureTransport

/// The result of opening a connection.
struct Handshake: Equatable, Sendable {
    /// The negotiated subprotocol, if any.
    var subprotocol: String?
    /// Whether messages may be compressed (RFC 7692).
    var isCompressed = false
    /// The client's request. Only a server has one.
    var request: UpgradeRequest?
}

/// A client's upgrade request. Every value except the peer's address was chosen by the client.
struct UpgradeRequest: Equatable, Sendable {
    /// The path without the query. The library has percent-decoded it.
    var path = ""
    /// The parts of the query in order, such as `token=abc`, percent-decoded. There are at most ``queryLimit``.
    var query: [String] = []
    /// The `Host` header.
    var host: String?
    /// The `Origin` header. Browsers always send one.
    var origin: String?
    /// The `Authorization` header.
    var authorization: String?
    /// The subprotocols offered by the client, in its order of preference. There are at most ``subprotocolLimit``.
    var subprotocols: [String] = []
    /// The peer's numeric address.
    var peerAddress = ""
    /// Whether the request arrived over TLS.
    var isSecure = false

    static let queryLimit = 32
    static let subprotocolLimit = 32

    /// Returns the value of the first part of the query with this name.
    func queryValue(_ name: String) -> String? {
        for part in query {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.first.map(String.init) == name { return halves.count == 2 ? String(halves[1]) : "" }
        }
        return nil
    }
}

/// What a client needs to open a connection.
struct ClientTarget: Sendable {
    // Bounds of the request, as documented for feeds.
    static let pathLimit = 2_032
    static let hostLimit = 119
    static let originLimit = 117

    /// The numeric address. It cannot be a name, because resolving a name would block the thread and all its
    /// connections.
    let address: String
    let port: UInt16
    /// The path of a Unix socket to connect to instead of the address and port.
    var unixSocket: String?
    /// The connection through a proxy, which is already open, to use instead of the address or the socket.
    var tunnel: ProxyTunnel?
    /// The `Host` header, including the port unless it is the scheme's default.
    let host: String
    /// The path and query, percent-encoded and starting with `/`.
    let path: String
    /// How to use TLS, or `nil` for a connection without it.
    var tls: TLSContext?
    /// The subprotocols to offer, which must be tokens, in order of preference.
    var subprotocols: [String] = []
    /// The `Origin` header.
    var origin: String?
    var headers: [HeaderField] = []
    /// Whether to offer compression.
    var offersCompression = false
    /// The maximum number of bytes waiting on this connection. If it is `nil`, the transport's limit applies.
    var waitingBytes: Int?

    /// The name or address that the server's certificate must be for: the host without the port and brackets.
    var serverName: String {
        if host.utf8.first == UInt8(ascii: "[") { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }

    /// Why the target cannot be expressed as a request, or `nil` if it can.
    var problem: String? {
        if let unixSocket {
            guard ClientTarget.isSocketPath(unixSocket) else { return "the path of the Unix socket is not usable" }
        } else {
            guard HeaderField.isWord(address) else { return "the address is empty or has forbidden characters" }
        }
        for (name, text, limit) in [
            ("path", path, ClientTarget.pathLimit), ("host", host, ClientTarget.hostLimit),
            ("origin", origin ?? "", ClientTarget.originLimit),
        ] where text.utf8.count > limit {
            return "the \(name) is longer than \(limit) bytes"
        }
        guard HeaderField.isWord(host) else { return "the host is empty or has forbidden characters" }
        guard path.utf8.first == UInt8(ascii: "/"), HeaderField.isWord(path) else {
            return "the path does not begin with / or has forbidden characters"
        }
        guard subprotocols.allSatisfy(HeaderField.isToken) else { return "a subprotocol is not a token" }
        guard origin.map(HeaderField.isWord) ?? true else { return "the origin has forbidden characters" }
        return nil
    }
}

extension ClientTarget {
    /// Returns whether the path can be the address of a Unix socket.
    static func isSocketPath(_ path: String) -> Bool {
        (1...UnixAddress.pathLimit).contains(path.utf8.count) && HeaderField.isLine(path)
    }
}

/// The address and features of a server.
struct ServerEndpoint: Sendable {
    /// An interface or a numeric address, or `nil` to listen on all interfaces.
    var address: String? = "127.0.0.1"
    /// The port. If it is 0, the system chooses one.
    var port: UInt16 = 0
    /// The server's certificate, or `nil` to disable TLS.
    var identity: WebSocketIdentity?
    /// The supported subprotocols. The server agrees to the first of them that the client offers.
    var subprotocols: [String] = []
    /// Whether to accept compression. The default is `false`, because each compressed connection uses about 100 KB of
    /// memory.
    var compresses = false
    /// The documents to serve in response to GET and HEAD, by path.
    var pages: [String: WebSocketPage] = [:]
    /// The limits for HTTP connections.
    var http = HTTPLimits()
    /// The maximum number of WebSockets of all sites, or `nil` for no limit beside those of the sites.
    var webSockets: Int?
}

/// A header of a request or a response, which is validated so that it cannot inject further lines (RFC 9110, 5.1 and
/// 5.5).
struct HeaderField: Hashable, Sendable {
    let name: String
    let value: String

    /// Creates a header. Returns `nil` if the name is not a token or the value contains a control character.
    init?(_ name: String, _ value: String) {
        guard HeaderField.isToken(name), HeaderField.isLine(value) else { return nil }
        self.name = name
        self.value = value
    }

    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { isAlphanumeric($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    static func isLine(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Returns whether the text is printable ASCII. Spaces are allowed.
    static func isPrintable(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// Returns whether the text can be used in a request line or a `Host` header.
    static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
