/// What a server answers a request for an upgrade.
enum UpgradeDecision: Equatable, Sendable {
    /// 101, and the connection opens.
    case accept
    /// 401: credentials are missing or wrong.
    case unauthorized
    /// 403: this origin, or this path, is not for that client.
    case forbidden
    /// 404: there is nothing at this path.
    case notFound
    /// 503: too many connections.
    case unavailable

    /// The HTTP status of a refusal; `nil` when accepted.
    var status: Int? {
        switch self {
        case .accept: nil
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound: 404
        case .unavailable: 503
        }
    }
}
