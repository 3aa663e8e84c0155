public import SignalboxCore
public import SignalboxRoutes

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
