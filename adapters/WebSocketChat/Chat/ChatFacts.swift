public import SignalboxCore
public import SignalboxRoutes

/// The facts that a WebSocket source knows about the origin of a message.
///
/// The encoded form contains all public facts except those that are absent. It contains the origin in the form that
/// browsers send.
public struct ChatFacts: OriginFacts {
    /// The kind `chat`.
    public static let kind = "chat"

    /// The source's role in the connection.
    public enum Role: String, Sendable, Hashable, Encodable {
        /// The source connected to a server and receives the server's messages.
        case feed
        /// The source accepted a client's connection.
        case server
    }

    // The private fact `isOwnPage` is not encoded.
    private enum CodingKeys: String, CodingKey { case role, peer, origin, principal, subprotocol, tls }

    /// The source's role in the connection.
    public let role: Role
    /// The numeric address of the client or, for a feed, the `host:port` of the server.
    public let peer: String
    /// The origin of the page whose browser connected.
    ///
    /// It is `nil` for feeds, and if the `Origin` header is absent or names no origin. Programs other than browsers can
    /// send any origin, so the origin alone proves nothing about them.
    public let origin: WebOrigin?
    /// The principal that the client's token identifies. It is `nil` for feeds, and if the server has no principals.
    public let principal: String?
    /// The negotiated subprotocol, if any.
    public internal(set) var subprotocol: String?
    /// Whether the connection is encrypted.
    public let tls: Bool
    /// Whether the origin is that of the server's own pages, as given by the configured host and the port.
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

extension AccessRule {
    /// Permits messages of clients that presented this principal's token.
    ///
    /// - Parameters:
    ///   - principal: The principal's name in the server's configuration.
    ///   - source: The required source, or `nil` for every chat server.
    public static func chat(principal: String, source: SourceName? = nil) -> AccessRule {
        chat("chat of principal \(principal)", source) { $0.role == .server && $0.principal == principal }
    }

    /// Permits messages of clients that presented any principal's token, or of clients that presented none.
    ///
    /// - Parameters:
    /// - authenticated: `true` permits only clients with a principal, `false` only clients without one.
    ///   - source: The required source, or `nil` for every chat server.
    public static func chat(authenticated: Bool, source: SourceName? = nil) -> AccessRule {
        chat(authenticated ? "chat with a principal" : "chat without a principal", source) {
            $0.role == .server && ($0.principal != nil) == authenticated
        }
    }

    /// Permits messages of clients whose `Origin` header is exactly this one.
    ///
    /// Only browsers are certain to send their true origin. Other programs can send any, so require a principal too
    /// where that matters.
    ///
    /// - Parameters:
    ///   - origin: The origin, such as `try WebOrigin("https://app.example")`.
    ///   - source: The required source, or `nil` for every chat server.
    public static func chat(origin: WebOrigin, source: SourceName? = nil) -> AccessRule {
        chat("chat of \(origin)", source) { $0.role == .server && $0.origin == origin }
    }

    /// Permits messages of servers that feeds connect to.
    ///
    /// - Parameters:
    /// - tls: `true` permits only encrypted connections, `false` only unencrypted ones, and `nil` both.
    ///   - source: The required source, or `nil` for every feed.
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
