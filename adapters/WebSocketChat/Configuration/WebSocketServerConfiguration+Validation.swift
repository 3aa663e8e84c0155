import AdapterSupport
import SignalboxCore

extension WebSocketServerConfiguration {
    /// Checks that every value is valid and that the values are consistent, without opening a file or a port.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration` for the first invalid value. The error names the source
    ///   and says how to fix the problem.
    public func validate() throws(WebSocketChatError) {
        do {
            try validateEndpoint()
            try validateClients()
            try validateTimes()
            try validateBounds()
            try validatePages()
        } catch {
            throw error.about(source)
        }
    }

    private func validateEndpoint() throws(WebSocketChatError) {
        guard NumericAddress(address) != nil else {
            throw .invalid("the address must be numeric, such as 127.0.0.1 or ::1; \(shown(address)) is not")
        }
        guard WebSocketServerConfiguration.isPath(path) else { throw .invalid(pathRule("path", path)) }
        if let identity, identity.certificateFile.isEmpty || identity.keyFile.isEmpty {
            throw .invalid("an identity needs the file of a certificate and the file of its key")
        }
    }

    private func validateClients() throws(WebSocketChatError) {
        guard origins.count <= 1_000 else { throw .invalid("a server can have at most 1000 origins") }
        if let pagesHost, pagesOrigin(port: 1) == nil {
            throw .invalid(
                "the host of pages must be valid in a URL, such as 127.0.0.1; \(shown(pagesHost)) is not"
            )
        }
        guard principals.count <= 10_000 else { throw .invalid("a server can have at most 10000 principals") }
        var names: Set<String> = []
        for principal in principals {
            guard (1...128).contains(principal.name.utf8.count), HeaderField.isLine(principal.name) else {
                throw .invalid("a principal's name must have 1 to 128 bytes without control characters")
            }
            guard names.insert(principal.name).inserted else {
                throw .invalid("two principals are named \(shown(principal.name)); give each its own name")
            }
        }
        guard subprotocols.count <= 32 else { throw .invalid("a server can have at most 32 subprotocols") }
        for name in subprotocols
        where !HeaderField.isToken(name) || name.utf8.count > 64 || BearerToken.isReserved(name) {
            throw .invalid(
                "a subprotocol must be a token (RFC 9110, 5.6.2) of at most 64 bytes that does not begin with signalbox.; "
                    + "\(shown(name)) is not"
            )
        }
        // A server that only serves documents is useful as well.
        guard isReachable || pagesHost != nil || !pages.isEmpty else {
            throw .invalid(
                "no client can connect: set the origins of the allowed pages, or principals with tokens for other clients, "
                    + "or allow clients without an origin"
            )
        }
        guard (1...10_000).contains(frames.batch) else {
            throw .invalid("a batch in one frame must have 1 to 10000 messages")
        }
    }

    private func validateTimes() throws(WebSocketChatError) {
        guard handshakeTimeout.isWholeSeconds(in: 1...3_600) else {
            throw .invalid("the handshake timeout must be a whole number of seconds, 1 to 3600")
        }
        guard (Duration.seconds(1) ... .seconds(3_600)).contains(httpTimeout) else {
            throw .invalid("httpTimeout must be 1 s to 1 h")
        }
        guard (Duration.seconds(1) ... .seconds(3_600)).contains(messageTimeout) else {
            throw .invalid("the message timeout must be 1 s to 1 h")
        }
        if let idleTimeout, !(Duration.seconds(1) ... .seconds(7 * 86_400)).contains(idleTimeout) {
            throw .invalid("the idle timeout must be 1 s to 7 days, or none")
        }
        guard pingAfter.isWholeSeconds(in: 1...3_600) else {
            throw .invalid("the time before a ping must be a whole number of seconds, 1 to 3600")
        }
        guard silenceLimit.isWholeSeconds(in: 2...7_200), silenceLimit > pingAfter else {
            throw .invalid(
                "the silence limit must be a whole number of seconds, more than the time before a ping, at most 7200"
            )
        }
    }

    private func validateBounds() throws(WebSocketChatError) {
        guard (1...1_000_000).contains(connections) else { throw .invalid("the connections must be 1 to 1000000") }
        try validateHTTPBounds()
        guard (1...10_000).contains(connectionWindow) else {
            throw .invalid("a connection's window must be 1 to 10000")
        }
        guard (1...10_000).contains(callsInFlight) else {
            throw .invalid("the calls in flight of one connection must be 1 to 10000")
        }
        guard (1_024...1 << 30).contains(waitingBytes) else {
            throw .invalid("the waiting bytes of one connection must be 1 KiB to 1 GiB")
        }
        guard (waitingBytes...64 << 30).contains(allWaitingBytes) else {
            throw .invalid(
                "the waiting bytes of all connections must be at least those of one (\(waitingBytes)), at most 64 GiB"
            )
        }
        guard (1...1_000).contains(tagsPerConnection) else {
            throw .invalid("the tags of one connection must be 1 to 1000")
        }
        guard tags.count <= tagsPerConnection else {
            throw .invalid("the initial tags of a connection exceed the limit of \(tagsPerConnection)")
        }
        guard tags.allSatisfy({ (1...ChatHub.tagLength).contains($0.utf8.count) }) else {
            throw .invalid("a tag must have 1 to \(ChatHub.tagLength) bytes")
        }
    }

    private func validateHTTPBounds() throws(WebSocketChatError) {
        for (name, count) in [
            ("httpConnections", httpConnections), ("httpConnectionsPerAddress", httpConnectionsPerAddress),
            ("httpRequests", httpRequests),
        ] as [(String, Int?)] where !(1...1_000_000).contains(count ?? 1) {
            throw .invalid("\(name) must be 1 to 1000000")
        }
        let limits = httpLimits
        guard limits.connectionsPerAddress <= limits.connections else {
            throw .invalid("httpConnectionsPerAddress must be at most httpConnections, which is \(limits.connections)")
        }
    }

    private func validatePages() throws(WebSocketChatError) {
        guard pages.count <= 100 else { throw .invalid("a server can have at most 100 pages") }
        for (path, page) in pages {
            guard WebSocketServerConfiguration.isPath(path) else { throw .invalid(pathRule("path of a page", path)) }
            guard (1...128).contains(page.contentType.utf8.count), HeaderField.isPrintable(page.contentType) else {
                throw .invalid(
                    "the content type of the page \(shown(path)) must be 1 to 128 printable ASCII characters"
                )
            }
            guard page.body.count <= 1 << 20 else { throw .invalid("the page \(shown(path)) has more than 1 MiB") }
        }
        guard pages.values.reduce(0, { $0 + $1.body.count }) <= 16 << 20 else {
            throw .invalid("the pages have more than 16 MiB in total")
        }
        guard let healthPath else { return }
        guard WebSocketServerConfiguration.isPath(healthPath) else {
            throw .invalid(pathRule("health path", healthPath))
        }
        guard pages[healthPath] == nil else {
            throw .invalid("the page \(shown(healthPath)) has the health path; move one of them")
        }
    }

    private static func isPath(_ text: String) -> Bool {
        text.utf8.first == UInt8(ascii: "/") && text.utf8.count <= 1_024 && HeaderField.isLine(text)
            && !text.utf8.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    }

    private func pathRule(_ what: String, _ text: String) -> String {
        "the \(what) must begin with / and have at most 1024 bytes without ?, # and control characters; \(shown(text)) does not"
    }

    private func shown(_ text: String) -> String { UntrustedText.quoted(text) }
}

extension WebSocketServerConfiguration {
    /// Whether any client can connect, given the origins, the principals and the policy for clients without an origin.
    package var isReachable: Bool {
        if !origins.isEmpty { return true }
        return switch absentOrigin {
        case .withToken: !principals.isEmpty
        case .allowed: true
        case .refused: false
        }
    }

    /// Returns the server's URL when it listens on the given port.
    package func url(port: UInt16) -> String {
        let scheme = identity == nil ? "ws" : "wss"
        return "\(scheme)://\(NumericAddress(address)?.inURL ?? address):\(port)\(path)"
    }

    /// Returns whether a numeric address is a loopback address.
    package static func isLocal(_ address: String) -> Bool { NumericAddress(address)?.isLoopback ?? false }
}
