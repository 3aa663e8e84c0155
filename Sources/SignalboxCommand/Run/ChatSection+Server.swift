import SignalboxCore
import WebSocketChat

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
