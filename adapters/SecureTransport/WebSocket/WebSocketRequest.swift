import AdapterSupport
package import SignalboxCore

/// What a client asks for when it turns a connection into a WebSocket (RFC 6455, 4.1).
package struct WebSocketRequest: Sendable, Hashable {
    /// A further header of the request.
    package struct Header: Sendable, Hashable {
        package let name: String
        /// The value, which may be a credential. It is read again for each connection.
        package let value: Secret

        package init(_ name: String, _ value: Secret) {
            self.name = name
            self.value = value
        }
    }

    /// The path and the query, percent-encoded, such as `/mqtt?tenant=7`.
    package let path: String
    /// The header `Host`, with the port unless it is that of the URL's scheme. An IPv6 address is in brackets.
    package let host: String
    /// The subprotocols to offer, in order of preference.
    package let subprotocols: [String]
    /// The extensions to offer, as the header lists them (RFC 6455, 9.1), or `nil` for none.
    package let extensions: String?
    package let headers: [Header]
    /// Whether any answer about subprotocols is accepted, so that the owner must check it. By default, the server must
    /// select one of those that are offered.
    package var leavesSubprotocolToOwner = false

    /// - Throws: ``UpgradeProblem/unusableRequest(_:)`` if a part would change the meaning of the request, such as a
    ///   header with a line break.
    package init(
        path: String = "/",
        host: String,
        subprotocols: [String] = [],
        extensions: String? = nil,
        headers: [Header] = []
    ) throws(UpgradeProblem) {
        guard path.utf8.first == UInt8(ascii: "/"), HTTPText.isWord(path) else {
            throw .unusableRequest("the path does not begin with / or contains forbidden characters")
        }
        guard HTTPText.isWord(host) else {
            throw .unusableRequest("the host is empty or contains forbidden characters")
        }
        guard subprotocols.allSatisfy({ HTTPText.isToken($0.utf8) }) else {
            throw .unusableRequest("a subprotocol is not a token (RFC 9110, 5.6.2)")
        }
        if let extensions, !HTTPText.isLine(extensions) {
            throw .unusableRequest("the extensions contain control characters")
        }
        for header in headers { try header.validate() }
        self.path = path
        self.host = host
        self.subprotocols = subprotocols
        self.extensions = extensions
        self.headers = headers
    }
}

extension WebSocketRequest.Header {
    private static let reserved: Set<String> = [
        "host", "upgrade", "connection", "content-length", "transfer-encoding", "expect",
    ]

    /// Checks the name, and the value if it is in the configuration.
    fileprivate func validate() throws(UpgradeProblem) {
        guard HTTPText.isToken(name.utf8) else {
            throw .unusableRequest("the header name \(name.debugDescription) is not a token (RFC 9110, 5.6.2)")
        }
        let lowercase = name.lowercased()
        guard !Self.reserved.contains(lowercase), !lowercase.hasPrefix("sec-websocket-") else {
            throw .unusableRequest("the header \(name) belongs to the handshake and cannot be set")
        }
        if case .text(let text) = value.source { try validate(text) }
    }

    /// Reads the value. May block, because the value may be in a file.
    func read() throws(UpgradeProblem) -> String {
        let text: String
        do throws(SecretUnavailable) { text = try value.read() } catch { throw .secretUnavailable(error.description) }
        try validate(text)
        return text
    }

    private func validate(_ text: String) throws(UpgradeProblem) {
        guard !text.isEmpty, HTTPText.isLine(text) else {
            throw .unusableRequest("the header \(name) has a value that is empty or contains control characters")
        }
    }
}

/// Why there is no WebSocket on a connection.
///
/// No case has a text from the server, because a server could repeat the credentials that it received.
package enum UpgradeProblem: Error, Sendable, Hashable {
    // MARK: Before the request

    /// The request cannot be sent. The text says why.
    case unusableRequest(String)
    /// The value of a header cannot be read. The text says where it comes from and why, and does not contain the value.
    case secretUnavailable(String)
    /// OpenSSL cannot compute the SHA-1 that the handshake needs.
    case digestUnavailable

    // MARK: The answer

    /// The server closed the connection before its answer was complete.
    case closed
    /// The answer is not one of HTTP/1.
    case notHTTP
    /// The head of the answer is not well-formed.
    case invalidAnswer
    /// The head of the answer has more than ``WebSocketUpgrade/answerLimit`` bytes.
    case answerTooLong
    /// The server answered with this status instead of 101.
    case status(Int)
    /// The header `Upgrade` is missing or does not name the WebSocket.
    case upgradeHeader
    /// The header `Connection` does not name the upgrade.
    case connectionHeader
    /// The header `Sec-WebSocket-Accept` is missing or does not fit the request, so the answer may be an old one.
    case acceptHeader
    /// The server uses an extension that was not offered.
    case extensions
    /// The server did not select the subprotocol of the request.
    case subprotocol

    /// Whether an attempt would fail again until a configuration has changed, here or at the server.
    package var needsReconfiguration: Bool {
        switch self {
        case .closed, .digestUnavailable: false
        case .status(let status): (200..<500).contains(status) && status != 408 && status != 425 && status != 429
        default: true
        }
    }

    /// The reason, and what to do, for log lines.
    package var reason: String {
        switch self {
        case .unusableRequest(let reason), .secretUnavailable(let reason): reason
        case .digestUnavailable: "OpenSSL cannot compute SHA-1, which the WebSocket handshake needs"
        case .closed:
            "the server closed the connection without an answer to the WebSocket request: check that it has a "
                + "WebSocket listener on this port, and that it supports the subprotocol"
        case .notHTTP: "the server's answer is not HTTP: check that the port is that of a WebSocket listener"
        case .invalidAnswer: "the server's answer to the WebSocket request is not well-formed"
        case .answerTooLong:
            "the server's answer to the WebSocket request has more than \(WebSocketUpgrade.answerLimit) bytes"
        case .status(let status): "the server answered with status \(status). \(UpgradeProblem.advice(status))"
        case .upgradeHeader: "the server's answer does not upgrade to a WebSocket"
        case .connectionHeader: "the server's answer lacks the header Connection: Upgrade"
        case .acceptHeader: "the server's answer does not fit the request: check the proxies and caches in between"
        case .extensions: "the server uses a WebSocket extension that was not offered"
        case .subprotocol: "the server did not select the subprotocol: check that the path is right"
        }
    }

    private static func advice(_ status: Int) -> String {
        switch status {
        case 200..<300: "It does not offer a WebSocket there: check the path"
        case 300..<400: "It redirects, which a WebSocket cannot follow: check the scheme, the host and the path"
        case 401, 403: "It denies access: check the headers with credentials"
        case 404, 405, 410, 426: "It has no such WebSocket: check the path"
        case 429: "It has too many requests: try again later"
        case 500...: "Check the server, and the proxies in front of it"
        default: "Check the request's path and headers"
        }
    }
}

/// The characters of a request and its answer (RFC 9110, 5).
enum HTTPText {
    /// Whether the text is a token (RFC 9110, 5.6.2).
    static func isToken(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty && text.allSatisfy(isTokenCharacter)
    }

    /// Whether the text can be a header's value. Other characters than ASCII are allowed.
    static func isLine(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Whether the text can be a part of a request line.
    static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    static func lowercase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch lowercase(byte) {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
