import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// The `chat` part of a source. A property that is `nil` has the server's default.
struct ChatSection: Sendable, Hashable {
    /// A numeric address of this machine.
    var address: String?
    /// The port; 0 lets the system choose.
    var port: UInt16
    /// The path to which clients connect.
    var path: String?
    /// The server's certificate.
    var identity: WebSocketIdentity?
    /// The origins whose pages may connect.
    var origins: [WebOrigin] = []
    /// The policy for clients without an `Origin` header.
    var absentOrigin = WebSocketAbsentOrigin.withToken
    /// The principals that may connect.
    var principals: [WebSocketPrincipal] = []
    /// The names of all principals in the file, including those whose tokens are missing.
    var principalNames: [String] = []
    /// Whether the URL may carry the token.
    var queryTokens = false
    /// The subprotocols that the server supports.
    var subprotocols: [String] = []
    /// The mapping of frames to actions.
    var frames = WebSocketFrames()
    /// Whether the server accepts compression.
    var compression = false
    /// Whether the server replies with the outcome of an action that has an id.
    var answers = true
    /// Whether the opening and closing of connections are submitted as actions.
    var announcesConnections = false
    /// The initial tags of each connection.
    var tags: [String] = []
    /// The limits and timeouts.
    var bounds = ChatBounds()
    /// The documents served on the same port, by path.
    var pages: [String: DocumentSection] = [:]
    /// The path of the health check.
    var health = HealthPath.standard

    /// The path of the health check.
    enum HealthPath: Sendable, Hashable {
        case standard
        case path(String)
        case none
    }

    /// Whether the settings allow any client to connect.
    var isReachable: Bool {
        if !origins.isEmpty { return true }
        return switch absentOrigin {
        case .withToken: !principals.isEmpty
        case .allowed: true
        case .refused: false
        }
    }

    /// Whether the address is reachable only from this machine.
    var isLocal: Bool {
        guard let address else { return true }
        return WebSocketServerConfiguration.isLocal(address)
    }
}

/// The limits and timeouts of a `chat` source. A property that is `nil` has the server's default.
struct ChatBounds: Sendable, Hashable {
    /// The maximum number of connections.
    var connections: Int?
    /// The maximum number of HTTP connections.
    var httpConnections: Int?
    /// The maximum number of HTTP connections from one address.
    var httpConnectionsPerAddress: Int?
    /// The maximum number of requests on one HTTP connection.
    var httpRequests: Int?
    /// The maximum lifetime of an HTTP connection.
    var httpTimeout: Duration?
    /// The maximum number of unsettled messages of one connection.
    var connectionWindow: Int?
    /// The time limit of each step of the handshake.
    var handshakeTimeout: Duration?
    /// The maximum time between the first and last fragment of a message.
    var messageTimeout: Duration?
    /// The maximum time without a message from a connection.
    var idleTimeout: Duration?
    /// The silence after which a client is pinged.
    var pingAfter: Duration?
    /// The silence after which a client is considered dead.
    var silenceLimit: Duration?
    /// The maximum number of unsent bytes on one connection.
    var waitingBytes: Int?
    /// The maximum number of unsent bytes on all connections.
    var allWaitingBytes: Int?
    /// The maximum number of tags on one connection.
    var tagsPerConnection: Int?
}

/// An entry of a chat source's `pages`.
struct DocumentSection: Sendable, Hashable {
    /// The file, relative to the working directory; it is read when the source starts.
    let file: String
    /// The content type, such as `text/html; charset=utf-8`.
    let contentType: String
}

extension ChatSection {
    /// Returns the adapter's configuration of this source.
    ///
    /// - Parameter pages: The content of the documents in ``pages``.
    func server(from source: SourceName, pages: [String: WebSocketPage] = [:], limits: MessageLimits)
        -> WebSocketServerConfiguration
    {
        var server = WebSocketServerConfiguration(source: source, port: port)
        server.address = address ?? server.address
        server.path = path ?? server.path
        server.identity = identity
        server.origins = origins
        server.absentOrigin = absentOrigin
        server.principals = principals
        server.queryTokens = queryTokens
        server.subprotocols = subprotocols
        server.frames = frames
        server.limits = limits
        server.compression = compression
        server.answers = answers
        server.announcesConnections = announcesConnections
        server.tags = Set(tags)
        server.pages = pages
        switch health {
        case .standard: break
        case .path(let path): server.healthPath = path
        case .none: server.healthPath = nil
        }
        bounds.set(in: &server)
        return server
    }

    /// Checks with the adapter's own rules that the settings are consistent. Does not read the documents.
    func validate(as source: SourceName) throws(WebSocketChatError) {
        let pages = pages.mapValues { WebSocketPage(contentType: $0.contentType, body: []) }
        try server(from: source, pages: pages, limits: MessageLimits()).validate()
    }

    /// Reads the documents.
    ///
    /// - Throws: ``NamedFileError`` for the first document that is missing or too large.
    func documents() throws(NamedFileError) -> [String: WebSocketPage] {
        var documents: [String: WebSocketPage] = [:]
        for (path, section) in pages.sorted(by: { $0.key < $1.key }) {
            switch FileContent.read(section.file, limit: FileContent.documentLimit) {
            case .success(let bytes):
                documents[path] = WebSocketPage(contentType: section.contentType, body: bytes)
            case .failure(let error):
                throw NamedFileError(path: section.file, reason: "cannot be read: \(error)")
            }
        }
        return documents
    }
}

extension ChatBounds {
    fileprivate func set(in server: inout WebSocketServerConfiguration) {
        server.connections = connections ?? server.connections
        server.httpConnections = httpConnections
        server.httpConnectionsPerAddress = httpConnectionsPerAddress
        server.httpRequests = httpRequests ?? server.httpRequests
        server.httpTimeout = httpTimeout ?? server.httpTimeout
        server.connectionWindow = connectionWindow ?? server.connectionWindow
        server.handshakeTimeout = handshakeTimeout ?? server.handshakeTimeout
        server.messageTimeout = messageTimeout ?? server.messageTimeout
        server.idleTimeout = idleTimeout
        server.pingAfter = pingAfter ?? server.pingAfter
        server.silenceLimit = silenceLimit ?? server.silenceLimit
        server.waitingBytes = waitingBytes ?? server.waitingBytes
        server.allWaitingBytes = allWaitingBytes ?? server.allWaitingBytes
        server.tagsPerConnection = tagsPerConnection ?? server.tagsPerConnection
    }
}
