/// What both sides agreed on when the connection opened.
struct Handshake: Equatable, Sendable {
    /// The subprotocol of the connection, if one was agreed on.
    var subprotocol: String?
    /// Whether messages may be compressed (RFC 7692).
    var isCompressed = false
    /// What the client asked for; on the server's side only.
    var request: UpgradeRequest?
}

/// What a client asks a server for. Everything in it is the client's word, except the peer's address.
struct UpgradeRequest: Equatable, Sendable {
    /// The path, percent-decoded by the library, without the query.
    var path = ""
    /// The parts of the query in order, percent-decoded, such as `token=abc`; at most ``queryLimit``.
    var query: [String] = []
    /// The header `Host`.
    var host: String?
    /// The header `Origin`. Browsers always send it.
    var origin: String?
    /// The header `Authorization`.
    var authorization: String?
    /// The offered subprotocols in the client's order of preference; at most ``subprotocolLimit``.
    var subprotocols: [String] = []
    /// The peer's numeric address.
    var peerAddress = ""
    /// Whether it came over TLS.
    var isSecure = false

    static let queryLimit = 32
    static let subprotocolLimit = 32

    /// The value of the first query part with this name.
    func queryValue(_ name: String) -> String? {
        for part in query {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.first.map(String.init) == name { return halves.count == 2 ? String(halves[1]) : "" }
        }
        return nil
    }
}

/// What a server answers a request for an upgrade.
enum UpgradeDecision: Equatable, Sendable {
    /// 101, and the connection opens.
    case accept
    /// 401: credentials are missing or wrong.
    case unauthorized
    /// 403: this origin, or this path, is not for that client.
    case forbidden
    /// 404: there is nothing at this path.
    case notFound
    /// 503: too many connections.
    case unavailable

    /// The HTTP status of a refusal; `nil` when accepted.
    var status: Int? {
        switch self {
        case .accept: nil
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound: 404
        case .unavailable: 503
        }
    }
}

/// Where a client connects to, and with what.
struct ClientTarget: Equatable, Sendable {
    /// How the connection is secured.
    enum Security: Hashable, Sendable {
        /// Not at all.
        case none
        /// TLS; the certificate must be the host's and signed by an authority that the system trusts.
        case system
        /// TLS; the certificate must be the host's and signed by an authority of this PEM file.
        case authority(file: String)
        /// TLS; any certificate will do, for any host.
        case anything
    }

    // The library writes these lines of the request into buffers of its own, and would leave out the end of longer ones,
    // the end of the line included.
    static let pathLimit = 2_032
    static let hostLimit = 119
    static let originLimit = 117

    /// Numeric: a name would block the thread, and with it all connections, until it is resolved.
    let address: String
    let port: UInt16
    /// The header `Host`, with the port where it is not the scheme's; without it, the name for TLS.
    let host: String
    /// Path and query, percent-encoded, beginning with `/`.
    let path: String
    var security = Security.none
    /// The client's own certificate, for servers that ask for one; looked at with TLS only.
    var identity: WebSocketIdentity?
    /// In order of preference; tokens.
    var subprotocols: [String] = []
    /// The header `Origin`.
    var origin: String?
    var headers: [HeaderField] = []
    /// Whether compression is offered.
    var offersCompression = false
    /// How many bytes may wait to be sent on this connection; the transport's own limit when `nil`.
    var waitingBytes: Int?

    private var lengthFault: String? {
        guard path.utf8.count <= ClientTarget.pathLimit else {
            return "the path is longer than \(ClientTarget.pathLimit) bytes"
        }
        guard host.utf8.count <= ClientTarget.hostLimit else {
            return "the host is longer than \(ClientTarget.hostLimit) bytes"
        }
        guard origin?.utf8.count ?? 0 <= ClientTarget.originLimit else {
            return "the origin is longer than \(ClientTarget.originLimit) bytes"
        }
        return nil
    }

    /// Why no request can be made of it; `nil` when one can.
    var fault: String? {
        guard HeaderField.isWord(address) else { return "the address is empty or has forbidden characters" }
        if let words = lengthFault { return words }
        guard HeaderField.isWord(host) else { return "the host is empty or has forbidden characters" }
        guard path.utf8.first == UInt8(ascii: "/"), HeaderField.isWord(path) else {
            return "the path does not begin with / or has forbidden characters"
        }
        guard subprotocols.allSatisfy(HeaderField.isToken) else { return "a subprotocol is no token" }
        guard origin.map(HeaderField.isWord) ?? true else { return "the origin has forbidden characters" }
        // With TLS the library would look for a certificate of what is before the first colon.
        guard security == .none || host.utf8.first != UInt8(ascii: "[") else {
            return "TLS needs a name or an IPv4 address, not \(host)"
        }
        return nil
    }
}

/// Where a server listens and what it offers.
struct ServerPlace: Sendable {
    /// A server's own certificate and its key, as PEM files.
    struct Identity: Hashable, Sendable {
        let certificateFile: String
        let keyFile: String
    }

    /// An interface or numeric address; all interfaces when `nil`.
    var address: String? = "127.0.0.1"
    /// 0 lets the system choose.
    var port: UInt16 = 0
    /// Plain when `nil`.
    var identity: Identity?
    /// The subprotocols the server speaks. The client's first that is among them is agreed on.
    var subprotocols: [String] = []
    /// Compressed connections cost about 100 KB each, so it is off unless asked for.
    var compresses = false
    /// Documents by path, for GET.
    var pages: [String: ServedPage] = [:]
    /// Limits for HTTP connections.
    var http = HTTPLimits()
}

/// A header of a request or an answer that cannot break out of its line (RFC 9110, 5.1 and 5.5).
struct HeaderField: Hashable, Sendable {
    let name: String
    let value: String

    /// `nil` when the name is no token, or the value has a control character.
    init?(_ name: String, _ value: String) {
        guard HeaderField.isToken(name), HeaderField.isLine(value) else { return nil }
        self.name = name
        self.value = value
    }

    static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    static func isLine(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Whether the text is ASCII that can be seen, spaces included.
    static func isPrintable(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// Whether the text can stand in a request line or a `Host` header.
    static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
