public import SignalboxCore

/// A header of a client's request. Its value is kept as a secret is: it may be one.
public struct WebSocketHeader: Sendable, Hashable {
    /// A token (RFC 9110, 5.6.2). Those of the handshake itself cannot be set: `Host`, `Upgrade`, `Connection`, `Origin`,
    /// and what begins with `Sec-WebSocket-`; nor those that announce a body: `Content-Length`, `Transfer-Encoding`.
    public let name: String
    /// One line without control characters, read at each connection.
    public let value: Secret

    /// A header as given; checked with the configuration it stands in.
    public init(_ name: String, _ value: Secret) {
        self.name = name
        self.value = value
    }

    /// Why no client's request may have it, in words that follow "the header"; `nil` when it may.
    ///
    /// - Parameter hasBearer: whether the request has a bearer token besides.
    func fault(hasBearer: Bool) -> String? {
        guard HeaderField.isToken(name), name.utf8.count <= WebSocketHeader.nameLimit else {
            return
                "\(name.debugDescription) is no token of at most \(WebSocketHeader.nameLimit) bytes (RFC 9110, 5.6.2)"
        }
        let lowercase = name.lowercased()
        if lowercase == "origin" { return "\(name) is set with the origin" }
        if lowercase == "sec-websocket-protocol" { return "\(name) is set with the subprotocols" }
        if lowercase == "authorization" && hasBearer {
            return "\(name) is set by the bearer token: leave out one of them"
        }
        if WebSocketHeader.reserved.contains(lowercase) || lowercase.hasPrefix("sec-websocket-") {
            return "\(name) belongs to the handshake and cannot be set"
        }
        if case .text(let text) = value.place, text.isEmpty || !HeaderField.isLine(text) {
            return "\(name) has a value that is empty or has control characters"
        }
        return nil
    }

    private static let nameLimit = 128
    private static let reserved: Set<String> = ["host", "upgrade", "connection", "content-length", "transfer-encoding"]
}
