/// The result of opening a connection.
struct Handshake: Equatable, Sendable {
    /// The negotiated subprotocol, if any.
    var subprotocol: String?
    /// Whether messages may be compressed (RFC 7692).
    var isCompressed = false
    /// The request of the client, which only a server has.
    var request: UpgradeRequest?
}

/// A client's upgrade request. The client chooses every value except the address of the peer.
struct UpgradeRequest: Equatable, Sendable {
    /// The path without the query, percent-decoded by the library.
    var path = ""
    /// The parts of the query in order, percent-decoded, such as `token=abc`. There are at most ``queryLimit``.
    var query: [String] = []
    /// The `Host` header.
    var host: String?
    /// The `Origin` header, which browsers always send.
    var origin: String?
    /// The `Authorization` header.
    var authorization: String?
    /// The offered subprotocols in the client's order of preference. There are at most ``subprotocolLimit``.
    var subprotocols: [String] = []
    /// The peer's numeric address.
    var peerAddress = ""
    /// Whether the request arrived over TLS.
    var isSecure = false

    static let queryLimit = 32
    static let subprotocolLimit = 32

    /// Returns the value of the first query part with this name.
    func queryValue(_ name: String) -> String? {
        for part in query {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.first.map(String.init) == name { return halves.count == 2 ? String(halves[1]) : "" }
        }
        return nil
    }
}

/// The parameters of a client's connection.
struct ClientTarget: Equatable, Sendable {
    // The library writes these lines into buffers of fixed size. It would truncate longer lines, including their line
    // ends.
    static let pathLimit = 2_032
    static let hostLimit = 119
    static let originLimit = 117

    /// The numeric address. A name is not allowed, because resolving it would block the thread and all its connections.
    let address: String
    let port: UInt16
    /// The `Host` header, with any port except the scheme's default. Without the port, it is the name that TLS uses.
    let host: String
    /// The path and query, percent-encoded, starting with `/`.
    let path: String
    /// The certificates to trust, or `nil` for a connection without TLS.
    var trust: WebSocketTrust?
    /// The client's own certificate, for servers that request one. It is used only with TLS.
    var identity: WebSocketIdentity?
    /// The offered subprotocols, which are tokens in order of preference.
    var subprotocols: [String] = []
    /// The `Origin` header.
    var origin: String?
    var headers: [HeaderField] = []
    /// Whether to offer compression.
    var offersCompression = false
    /// The maximum number of bytes waiting on this connection. If it is `nil`, the limit of the transport applies.
    var waitingBytes: Int?

    /// The reason that the target cannot be put into a request, or `nil` if it can.
    var problem: String? {
        guard HeaderField.isWord(address) else { return "the address is empty or has forbidden characters" }
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
        // With TLS, the library would verify the certificate against the text before the first colon.
        guard trust == nil || host.utf8.first != UInt8(ascii: "[") else {
            return "TLS needs a name or an IPv4 address, not \(host)"
        }
        return nil
    }
}

/// A server's address and features.
struct ServerEndpoint: Sendable {
    /// An interface or a numeric address. If it is `nil`, the server listens on all interfaces.
    var address: String? = "127.0.0.1"
    /// The port. If it is 0, the system chooses one.
    var port: UInt16 = 0
    /// The certificate of the server, or `nil` for a server without TLS.
    var identity: WebSocketIdentity?
    /// The supported subprotocols. The server agrees to the first supported one that the client offers.
    var subprotocols: [String] = []
    /// Whether to accept compression. The default is `false`, as a compressed connection costs about 100 KB.
    var compresses = false
    /// The documents to serve by path, for GET and HEAD.
    var pages: [String: WebSocketPage] = [:]
    /// The limits for HTTP connections.
    var http = HTTPLimits()
}

/// A header of a request or a response that cannot inject further lines (RFC 9110, 5.1 and 5.5).
struct HeaderField: Hashable, Sendable {
    let name: String
    let value: String

    /// Creates a header, or returns `nil` if the name is no token or the value has a control character.
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

    /// Returns whether the text is printable ASCII, spaces included.
    static func isPrintable(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// Returns whether the text is valid in a request line or a `Host` header.
    static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
