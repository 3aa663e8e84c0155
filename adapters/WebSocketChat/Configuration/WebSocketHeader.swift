import AdapterSupport
public import SignalboxCore

/// A header of a client's request. The header's value is a secret, because it may be a credential.
public struct WebSocketHeader: Sendable, Hashable {
    /// The name, which must be a token (RFC 9110, 5.6.2).
    ///
    /// Handshake headers (`Host`, `Upgrade`, `Connection`, `Origin`, `Sec-WebSocket-*`) are not allowed, nor are
    /// headers that announce a body (`Content-Length`, `Transfer-Encoding`, `Expect`).
    public let name: String
    /// The value, a single line without control characters. The feed reads it before each connection.
    public let value: Secret

    /// Creates a header. It is validated as part of its configuration.
    public init(_ name: String, _ value: Secret) {
        self.name = name
        self.value = value
    }

    /// Returns the reason why the header cannot be used in a client's request, or `nil` if it can. The text continues a
    /// sentence that starts with "the header".
    ///
    /// - Parameter authorization: What sets the header `Authorization`, or `nil` if nothing does.
    func problem(authorization: String?) -> String? {
        guard HeaderField.isToken(name), name.utf8.count <= WebSocketHeader.nameLimit else {
            return
                "\(name.debugDescription) is not a token of at most \(WebSocketHeader.nameLimit) bytes (RFC 9110, 5.6.2)"
        }
        let lowercase = name.lowercased()
        if lowercase == "origin" { return "\(name) is set from the origin" }
        if lowercase == "sec-websocket-protocol" { return "\(name) is set from the subprotocols" }
        if lowercase == "authorization", let authorization {
            return "\(name) is set by \(authorization): leave out one of them"
        }
        if WebSocketHeader.reserved.contains(lowercase) || lowercase.hasPrefix("sec-websocket-") {
            return "\(name) belongs to the handshake and cannot be set"
        }
        if case .text(let text) = value.source, text.isEmpty || !HeaderField.isLine(text) {
            return "\(name) has a value that is empty or contains control characters"
        }
        return nil
    }

    private static let nameLimit = 128
    private static let reserved: Set<String> = [
        "host", "upgrade", "connection", "content-length", "transfer-encoding", "expect",
    ]
}

/// A user name and password for `Authorization: Basic` (RFC 7617).
///
/// Servers receive both in a form that anyone on the network path can decode, so use `wss://`.
public struct WebSocketLogin: Sendable, Hashable {
    /// The user name, without colons and control characters. The feed reads it before each connection.
    public let username: Secret
    /// The password, without control characters. Without one, which is the default, the feed sends an empty password.
    public let password: Secret?

    /// Creates a login. It is validated as part of its configuration.
    public init(username: Secret, password: Secret? = nil) {
        self.username = username
        self.password = password
    }

    /// Why the parts of the login that are in the configuration cannot be sent, or `nil` if they can.
    var problem: String? {
        for case .text(let text)? in [username.source, password?.source] where !HeaderField.isLine(text) {
            return "the login contains control characters"
        }
        if case .text(let text) = username.source, text.utf8.contains(WebSocketLogin.separator) {
            return WebSocketLogin.colon
        }
        return nil
    }

    /// Returns the header's value. May block, because the secrets are read.
    func credentials() throws(DisconnectReason) -> String {
        let name = try WebSocketLogin.line(username)
        guard !name.utf8.contains(WebSocketLogin.separator) else { throw .secretUnavailable(WebSocketLogin.colon) }
        let word = try password.map { secret throws(DisconnectReason) in try WebSocketLogin.line(secret) } ?? ""
        return "Basic " + Base64.encoded(Bytes(Array("\(name):\(word)".utf8)))
    }

    private static let separator = UInt8(ascii: ":")
    private static let colon = "the user name contains a colon, which would end it (RFC 7617, 2)"

    private static func line(_ secret: Secret) throws(DisconnectReason) -> String {
        let text: String
        do throws(SecretUnavailable) { text = try secret.read() } catch { throw .secretUnavailable(error.description) }
        guard HeaderField.isLine(text) else {
            throw .secretUnavailable("the \(secret) contains control characters, so it cannot be part of a login")
        }
        return text
    }
}
