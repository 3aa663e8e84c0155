public import SignalboxCore

/// Somebody who may connect, told by a token.
public struct WebSocketPrincipal: Sendable, Hashable {
    /// Who it is, for access rules, facts and logs: 1 to 128 bytes without control characters.
    public let name: String
    /// The token, of at least 16 bytes, read when the server begins to run.
    public let token: Secret

    /// A principal as given; checked with the configuration it stands in.
    public init(_ name: String, token: Secret) {
        self.name = name
        self.token = token
    }
}
