import SignalboxRoutes

/// Who may connect. A request is looked at in this order: path, origin, token, room.
struct UpgradePolicy: Sendable {
    /// What became of a request.
    enum Answer: Equatable {
        case admitted(Admission)
        /// With what to tell the log: never a secret.
        case refused(UpgradeDecision, why: String)
    }

    private let path: String
    private let origins: Set<WebOrigin>
    private let absentOrigin: WebSocketAbsentOrigin
    private let queryTokens: Bool
    private let tokens: PrincipalTokens
    /// The origin of the server's own pages, once the port is known, where they may connect.
    var pagesOrigin: WebOrigin?

    init(_ configuration: WebSocketServerConfiguration, tokens: PrincipalTokens) {
        path = configuration.path
        origins = Set(configuration.origins)
        absentOrigin = configuration.absentOrigin
        queryTokens = configuration.queryTokens
        self.tokens = tokens
    }

    /// - Parameter noRoom: why there is no room for one more, if there is none.
    func answer(_ request: UpgradeRequest, noRoom: String?) -> Answer {
        guard request.path == path else {
            return .refused(.notFound, why: "nobody is served at \(ShownText.quoted(request.path))")
        }
        var origin: WebOrigin?
        if let text = request.origin {
            guard let named = try? WebOrigin(text), named == pagesOrigin || origins.contains(named) else {
                return .refused(.forbidden, why: "the origin \(ShownText.quoted(text)) is not among those allowed")
            }
            origin = named
        } else if absentOrigin == .refused || absentOrigin == .withToken && tokens.isEmpty {
            return .refused(.forbidden, why: "it named no origin, and such clients are not allowed")
        }
        let token = BearerToken(of: request, allowingQuery: queryTokens)
        var principal: String?
        if !tokens.isEmpty {
            guard let token else { return .refused(.unauthorized, why: "it showed no token") }
            guard let owner = tokens.principal(showing: token.bytes) else {
                return .refused(.unauthorized, why: "its token is nobody's")
            }
            principal = owner
        }
        if let noRoom { return .refused(.unavailable, why: noRoom) }
        let usedQuery = principal != nil && token?.way == .query
        return .admitted(
            Admission(
                peer: request.peerAddress,
                origin: origin,
                isOwnPage: origin != nil && origin == pagesOrigin,
                principal: principal,
                isSecure: request.isSecure,
                usedQueryToken: usedQuery
            )
        )
    }
}
