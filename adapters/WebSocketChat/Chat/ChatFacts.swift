public import SignalboxCore
public import SignalboxRoutes

/// What a WebSocket source knows about the origin of a message.
///
/// The encoded form contains every public fact that is present. The page's origin is encoded in the form in which
/// browsers send it.
public struct ChatFacts: OriginFacts {
    /// The kind `chat`.
    public static let kind = "chat"

    /// The source's role in the connection.
    public enum Role: String, Sendable, Hashable, Codable {
        /// The source connected to a server and receives messages from it.
        case feed
        /// The source accepted a connection from a client.
        case server
    }

    // The private fact `isOwnPage` is not encoded.
    private enum CodingKeys: String, CodingKey { case role, peer, origin, principal, subprotocol, tls }

    /// The source's role in the connection.
    public let role: Role
    /// The peer's address. For a server, this is the client's numeric address; for a feed, it is the `host:port` of the
    /// server, or `unix:` and the path of its Unix socket.
    public let peer: String
    /// The origin of the page that opened the connection.
    ///
    /// The value is `nil` for feeds, and if the `Origin` header is absent or names no origin. Programs other than
    /// browsers can send any origin, so the origin alone proves nothing about them.
    public let origin: WebOrigin?
    /// The principal identified by the client's token, or `nil` for feeds and for servers without principals.
    public let principal: String?
    /// The negotiated subprotocol, if any.
    public internal(set) var subprotocol: String?
    /// Whether the connection is encrypted.
    public let tls: Bool
    /// Whether the origin is that of the server's own pages, as derived from the configured host and the port.
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

extension ChatFacts: Decodable {
    /// Decodes facts that were encoded as described above.
    ///
    /// - Throws: `DecodingError` if a fact is missing, has another type, or is no origin.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let origin = try container.decodeIfPresent(String.self, forKey: .origin)
        self.init(
            role: try container.decode(Role.self, forKey: .role),
            peer: try container.decode(String.self, forKey: .peer),
            origin: try origin.map { try WebOrigin($0) },
            principal: try container.decodeIfPresent(String.self, forKey: .principal),
            subprotocol: try container.decodeIfPresent(String.self, forKey: .subprotocol),
            tls: try container.decode(Bool.self, forKey: .tls)
        )
    }

    /// Returns these stored facts with the one that is not stored.
    ///
    /// - Parameter pagesOrigin: The origin of the server's own pages, or `nil` if it is not known.
    func comparing(with pagesOrigin: WebOrigin?) -> ChatFacts {
        ChatFacts(
            role: role,
            peer: peer,
            origin: origin,
            principal: principal,
            subprotocol: subprotocol,
            tls: tls,
            isOwnPage: origin != nil && origin == pagesOrigin
        )
    }
}

extension AccessRule {
    /// A rule that permits messages from clients that presented the given principal's token.
    ///
    /// - Parameters:
    ///   - principal: The principal's name in the server's configuration.
    ///   - source: The required source, or `nil` for any chat server.
    public static func chat(principal: String, source: SourceName? = nil) -> AccessRule {
        chat("chat of principal \(principal)", source) { $0.role == .server && $0.principal == principal }
    }

    /// A rule that permits messages from clients depending on whether they presented a principal's token.
    ///
    /// - Parameters:
    ///   - authenticated: `true` to permit only clients with a principal; `false` to permit only clients without one.
    ///   - source: The required source, or `nil` for any chat server.
    public static func chat(authenticated: Bool, source: SourceName? = nil) -> AccessRule {
        chat(authenticated ? "chat with a principal" : "chat without a principal", source) {
            $0.role == .server && ($0.principal != nil) == authenticated
        }
    }

    /// A rule that permits messages from clients whose `Origin` header is exactly the given origin.
    ///
    /// Only browsers can be trusted to send their true origin; other programs can send any origin. Where that matters,
    /// require a principal as well.
    ///
    /// - Parameters:
    ///   - origin: The origin, such as `try WebOrigin("https://app.example")`.
    ///   - source: The required source, or `nil` for any chat server.
    public static func chat(origin: WebOrigin, source: SourceName? = nil) -> AccessRule {
        chat("chat of \(origin)", source) { $0.role == .server && $0.origin == origin }
    }

    /// A rule that permits messages from the servers that feeds connect to.
    ///
    /// - Parameters:
    ///   - tls: `true` to permit only encrypted connections; `false` to permit only unencrypted ones; `nil` to permit
    ///     both.
    ///   - source: The required source, or `nil` for any feed.
    public static func feed(tls: Bool? = nil, source: SourceName? = nil) -> AccessRule {
        let description = tls.map { $0 ? "feed over TLS" : "feed without TLS" } ?? "feed"
        return chat(description, source) { $0.role == .feed && (tls == nil || $0.tls == tls) }
    }

    private static func chat(
        _ description: String,
        _ source: SourceName?,
        permits: @escaping @Sendable (ChatFacts) -> Bool
    ) -> AccessRule {
        AccessRule(description, naming: ChatFacts.self, of: source, permits: permits)
    }
}
