public import SignalboxCore
public import SignalboxRoutes

/// The facts a WebSocket source has about the origin of a message.
///
/// All public facts are encoded. The origin has the form that browsers send; absent facts are omitted.
public struct ChatFacts: OriginFacts {
    /// `chat`.
    public static let kind = "chat"

    /// The source's role in the connection.
    public enum Role: String, Sendable, Hashable, Encodable {
        /// The source connected to a server and receives the server's messages.
        case feed
        /// The source accepted a client's connection.
        case server
    }

    // All but `isOwnPage`, which is not public.
    private enum CodingKeys: String, CodingKey { case role, peer, origin, principal, subprotocol, tls }

    /// The source's role in the connection.
    public let role: Role
    /// The client's numeric address, or the server's `host:port`.
    public let peer: String
    /// The origin of the page whose browser connected; `nil` for feeds, and if the `Origin` header is absent or names
    /// no origin. Programs other than browsers can send any origin.
    public let origin: WebOrigin?
    /// The principal that the client's token identifies; `nil` if the server has no principals, and for feeds.
    public let principal: String?
    /// The negotiated subprotocol.
    public internal(set) var subprotocol: String?
    /// Whether the connection is encrypted.
    public let tls: Bool
    /// Whether the origin is that of the server's own pages, according to the configured host and the port.
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
    ///   - authenticated: `true` for clients with a principal only, `false` for clients without one only.
    ///   - source: The required source, or `nil` for every chat server.
    public static func chat(authenticated: Bool, source: SourceName? = nil) -> AccessRule {
        chat(authenticated ? "chat with a principal" : "chat without a principal", source) {
            $0.role == .server && ($0.principal != nil) == authenticated
        }
    }

    /// Permits messages of clients whose `Origin` header is exactly this one. Only browsers send it reliably. Other
    /// programs can send any origin, so require a principal too where that matters.
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
    ///   - tls: `true` for encrypted connections only, `false` for unencrypted ones only; `nil` permits both.
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
