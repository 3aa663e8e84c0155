public import SignalboxCore
public import SignalboxRoutes

/// What a WebSocket source knows about where a message came from.
public struct ChatFacts: OriginFacts {
    /// `chat`.
    public static let kind = "chat"

    /// On which side of the connection the source is.
    public enum Role: String, Sendable, Hashable, Encodable {
        /// The source connected to a server: it is the server that speaks.
        case feed
        /// A client connected to the source.
        case server
    }

    /// On which side of the connection the source is.
    public let role: Role
    /// The client's numeric address, or the server's `host:port`.
    public let peer: String
    /// The origin of the page whose browser connected, or `nil`: there was no header `Origin`, or one that names none; a
    /// feed has none. Programs other than browsers send what they like.
    public let origin: WebOrigin?
    /// Who the client is, by its token; `nil` where none is asked for, and for feeds.
    public let principal: String?
    /// The subprotocol that was agreed on.
    public let subprotocol: String?
    /// Whether the connection is encrypted.
    public let tls: Bool
    /// Whether the origin is that of the server's own pages, by the host and the port that the configuration gives them.
    package let isOwnPage: Bool

    package init(
        role: Role,
        peer: String,
        origin: WebOrigin? = nil,
        principal: String? = nil,
        subprotocol: String? = nil,
        tls: Bool = false,
        isOwnPage: Bool = false
    ) {
        self.role = role
        self.peer = peer
        self.origin = origin
        self.principal = principal
        self.subprotocol = subprotocol
        self.tls = tls
        self.isOwnPage = isOwnPage
    }
}

extension ChatFacts {
    private enum CodingKeys: String, CodingKey { case role, peer, origin, principal, subprotocol, tls }

    /// Encodes all facts; the origin as browsers send it, and nothing where there is nothing.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(role, forKey: .role)
        try container.encode(peer, forKey: .peer)
        try container.encodeIfPresent(origin?.description, forKey: .origin)
        try container.encodeIfPresent(principal, forKey: .principal)
        try container.encodeIfPresent(subprotocol, forKey: .subprotocol)
        try container.encode(tls, forKey: .tls)
    }
}

extension AccessRule {
    /// Messages of clients that showed this principal's token.
    ///
    /// - Parameters:
    ///   - principal: as the server's configuration names it.
    ///   - source: the one source they must come through, or `nil` for every chat server.
    public static func chat(principal: String, source: SourceName? = nil) -> AccessRule {
        chat("chat of principal \(principal)", source) { $0.role == .server && $0.principal == principal }
    }

    /// Messages of clients that showed any principal's token, or of those that showed none.
    ///
    /// - Parameters:
    ///   - authenticated: `true` for clients with a principal alone.
    ///   - source: the one source they must come through, or `nil` for every chat server.
    public static func chat(authenticated: Bool, source: SourceName? = nil) -> AccessRule {
        chat(authenticated ? "chat with a principal" : "chat without a principal", source) {
            $0.role == .server && ($0.principal != nil) == authenticated
        }
    }

    /// Messages of clients whose header `Origin` is exactly this one. Only a browser's word is worth anything: other
    /// programs send what they like, so name a principal as well where that matters.
    ///
    /// - Parameters:
    ///   - origin: such as `try WebOrigin("https://app.example")`.
    ///   - source: the one source they must come through, or `nil` for every chat server.
    public static func chat(origin: WebOrigin, source: SourceName? = nil) -> AccessRule {
        chat("chat of \(origin)", source) { $0.role == .server && $0.origin == origin }
    }

    /// Messages of servers that feeds are connected to.
    ///
    /// - Parameters:
    ///   - tls: `true` for encrypted connections alone; `nil` for all.
    ///   - source: the one source they must come through, or `nil` for every feed.
    public static func feed(tls: Bool? = nil, source: SourceName? = nil) -> AccessRule {
        let words = tls.map { $0 ? "feed over TLS" : "feed without TLS" } ?? "feed"
        return chat(words, source) { $0.role == .feed && (tls == nil || $0.tls == tls) }
    }

    private static func chat(
        _ description: String,
        _ source: SourceName?,
        permits: @escaping @Sendable (ChatFacts) -> Bool
    ) -> AccessRule {
        AccessRule(description, naming: ChatFacts.self, of: source, permits: permits)
    }
}
