extension UpgradeDecision {
    /// What the client is answered; `nil` when accepted.
    var refusal: HTTPRefusal? {
        switch self {
        case .accept: nil
        case .unauthorized: .unauthorized
        case .forbidden: .forbidden
        case .notFound: .notFound
        case .unavailable: .unavailable
        }
    }
}
