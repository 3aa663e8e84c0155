import SignalboxRoutes

/// Who a client is that may connect.
struct Admission: Equatable {
    let peer: String
    let origin: WebOrigin?
    /// The origin is that of the server's own pages.
    var isOwnPage = false
    let principal: String?
    let isSecure: Bool
    /// Its token came in the query.
    let usedQueryToken: Bool

    /// What access rules and plugins find in the origin of its messages.
    func facts(subprotocol: String?) -> ChatFacts {
        ChatFacts(
            role: .server,
            peer: peer,
            origin: origin,
            principal: principal,
            subprotocol: subprotocol,
            tls: isSecure,
            isOwnPage: isOwnPage
        )
    }
}
