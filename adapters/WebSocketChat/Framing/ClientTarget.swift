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
