import SignalboxRoutes

/// Decides which clients may connect.
///
/// The policy checks the path, the origin and the token of a request, and then whether the server has room.
struct UpgradePolicy: Sendable {
    /// The decision about a request.
    enum Evaluation: Equatable {
        /// The client may connect. Contains the facts about the client, without the subprotocol, and whether its token
        /// was in the query.
        case admitted(ChatFacts, usedQueryToken: Bool)
        /// The client may not connect. Contains the response and the reason for the log, which never contains a secret.
        case refused(HTTPRefusal, reason: String)
    }

    private let configuration: WebSocketServerConfiguration
    private let origins: Set<WebOrigin>
    private let tokens: PrincipalTokens
    /// The origin of the server's own pages, or `nil` if they may not connect. It is set when the port is known.
    var pagesOrigin: WebOrigin?

    init(_ configuration: WebSocketServerConfiguration, tokens: PrincipalTokens) {
        self.configuration = configuration
        origins = Set(configuration.origins)
        self.tokens = tokens
    }

    /// Decides whether to accept a request.
    ///
    /// - Parameter unavailableReason: Why no more connections can be accepted, or `nil` if another one can.
    func evaluate(_ request: UpgradeRequest, unavailableReason: String?) -> Evaluation {
        guard request.path == configuration.path else {
            return .refused(.notFound, reason: "nothing is served at \(UntrustedText.quoted(request.path))")
        }
        var origin: WebOrigin?
        if let text = request.origin {
            guard let named = try? WebOrigin(text), named == pagesOrigin || origins.contains(named) else {
                return .refused(
                    .forbidden,
                    reason: "the origin \(UntrustedText.quoted(text)) is not among those allowed"
                )
            }
            origin = named
        } else if configuration.absentOrigin == .refused
            || configuration.absentOrigin == .withToken && tokens.isEmpty
        {
            return .refused(.forbidden, reason: "it sent no origin, and such clients are not allowed")
        }
        let token = BearerToken(of: request, allowingQuery: configuration.queryTokens)
        var principal: String?
        if !tokens.isEmpty {
            guard let token else { return .refused(.unauthorized, reason: "it sent no token") }
            guard let owner = tokens.principal(presenting: token.bytes) else {
                return .refused(.unauthorized, reason: "its token is unknown")
            }
            principal = owner
        }
        if let unavailableReason { return .refused(.unavailable, reason: unavailableReason) }
        let facts = ChatFacts(
            role: .server,
            peer: request.peerAddress,
            origin: origin,
            principal: principal,
            tls: request.isSecure,
            isOwnPage: origin != nil && origin == pagesOrigin
        )
        return .admitted(facts, usedQueryToken: principal != nil && token?.location == .query)
    }
}

/// The token in a request, and which part of the request contains it.
package struct BearerToken: Equatable {
    enum Location: Equatable { case header, subprotocol, query }

    /// The prefix of a subprotocol that contains a token.
    static let prefix = "signalbox.bearer."
    /// The subprotocol to offer along with a token, because the server never agrees to a subprotocol that contains a
    /// token.
    static let companion = "signalbox"
    private static let query = "token"

    let location: Location
    /// The token's bytes. Empty if the token is malformed.
    let bytes: [UInt8]

    /// Reads the first token found in the header, the subprotocols and, if allowed, the query. Returns `nil` if none
    /// of them contains a token.
    init?(of request: UpgradeRequest, allowingQuery: Bool) {
        if let credentials = request.authorization.flatMap(BearerToken.credentials) {
            location = .header
            bytes = credentials
        } else if let offered = request.subprotocols.first(where: { $0.hasPrefix(BearerToken.prefix) }) {
            location = .subprotocol
            bytes = BearerToken.base64URL(offered.utf8.dropFirst(BearerToken.prefix.utf8.count)) ?? []
        } else if allowingQuery, let value = request.queryValue(BearerToken.query) {
            location = .query
            bytes = Array(value.utf8)
        } else {
            return nil
        }
    }

    /// Returns whether the name of a subprotocol is reserved for Signalbox.
    static func isReserved(_ subprotocol: String) -> Bool { subprotocol.hasPrefix("signalbox.") }

    /// Returns the text that follows `Bearer` (in any case) and spaces (RFC 6750, 2.1; RFC 9110, 11.1). Returns `nil`
    /// if the header does not start with them.
    package static func credentials(_ header: String) -> [UInt8]? {
        let scheme = header.utf8.prefix { $0 != UInt8(ascii: " ") }
        guard scheme.elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) else { return nil }
        return Array(header.utf8.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") })
    }

    /// Decodes base64url (RFC 4648, 5) without padding.
    private static func base64URL(_ text: Substring.UTF8View) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var held = 0
        for digit in text {
            guard let value = value(of: digit) else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            guard held >= 8 else { continue }
            held -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
