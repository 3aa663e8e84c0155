import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// The `chat` part of a source. What is `nil` has the server's own default.
struct ChatSection: Sendable, Hashable {
    /// A numeric address of this machine.
    var address: String?
    /// 0 lets the system choose.
    var port: UInt16
    /// The path clients connect to.
    var path: String?
    /// The server's certificate.
    var identity: WebSocketIdentity?
    /// The origins whose pages may connect.
    var origins: [WebOrigin] = []
    /// What becomes of clients without an `Origin`.
    var absentOrigin = WebSocketAbsentOrigin.withToken
    /// Who may connect.
    var principals: [WebSocketPrincipal] = []
    /// Their names, and those of principals whose tokens are not there.
    var principalNames: [String] = []
    /// Whether a token may also come in the URL.
    var queryTokens = false
    /// The subprotocols the server speaks.
    var subprotocols: [String] = []
    /// How frames become actions.
    var frames = WebSocketFrames()
    /// Whether compression is agreed to.
    var compression = false
    /// Whether an action that has an id is answered with its outcome.
    var answers = true
    /// Whether connections and their ends are actions too.
    var announcesConnections = false
    /// What each connection begins with.
    var tags: [String] = []
    /// Numbers and times.
    var bounds = ChatBounds()
    /// Documents on the same port, by path.
    var pages: [String: DocumentSection] = [:]
    /// The path that tells whether the server runs.
    var health = HealthPath.standard

    /// Where it tells whether the server runs.
    enum HealthPath: Sendable, Hashable {
        case standard
        case path(String)
        case none
    }

    /// Whether anybody could connect at all.
    var isReachable: Bool {
        if !origins.isEmpty { return true }
        return switch absentOrigin {
        case .withToken: !principals.isEmpty
        case .allowed: true
        case .refused: false
        }
    }

    /// Whether only this machine can reach it.
    var isLocal: Bool {
        guard let address else { return true }
        return WebSocketServerConfiguration.isLocal(address)
    }
}

/// The numbers and times of a `chat` source. What is `nil` has the server's own default.
struct ChatBounds: Sendable, Hashable {
    /// How many connections there may be.
    var connections: Int?
    /// The maximum number of HTTP connections.
    var httpConnections: Int?
    /// The maximum number of HTTP connections from one address.
    var httpConnectionsPerAddress: Int?
    /// The maximum number of requests on one HTTP connection.
    var httpRequests: Int?
    /// How long an HTTP connection may last.
    var httpTimeout: Duration?
    /// How many messages of one connection may be without an outcome.
    var connectionWindow: Int?
    /// How long each step of opening may take.
    var handshakeTimeout: Duration?
    /// How long a message may take from its first piece to its last.
    var messageTimeout: Duration?
    /// How long a connection may send no message.
    var idleTimeout: Duration?
    /// After how much silence a client is pinged.
    var pingAfter: Duration?
    /// After how much silence a client counts as dead.
    var silenceLimit: Duration?
    /// How many bytes may wait to be sent on one connection.
    var waitingBytes: Int?
    /// How many bytes may wait to be sent on all connections.
    var allWaitingBytes: Int?
    /// How many tags one connection may have.
    var tagsPerConnection: Int?
}

/// One entry of a chat source's `pages`.
struct DocumentSection: Sendable, Hashable {
    /// The file, relative to the working directory; it is read when the source begins.
    let file: String
    /// Such as `text/html; charset=utf-8`.
    let contentType: String
}

extension ChatSection {
    /// The source as its adapter wants it.
    ///
    /// - Parameter pages: the documents of ``pages``, read.
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

    /// What the adapter alone knows about values that do not go together. The documents are not read for it.
    func validate(as source: SourceName) throws(WebSocketChatError) {
        let pages = pages.mapValues { WebSocketPage(contentType: $0.contentType, body: []) }
        try server(from: source, pages: pages, limits: MessageLimits()).validate()
    }

    /// Reads the documents.
    ///
    /// - Throws: ``NamedFileError`` for the first that is not there or too large.
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
