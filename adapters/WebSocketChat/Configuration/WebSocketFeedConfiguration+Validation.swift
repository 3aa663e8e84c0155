import SignalboxCore

extension WebSocketFeedConfiguration {
    /// The most seconds that a step of connecting may take. The transport gives up later than that, so that it is the feed
    /// that does.
    static let connectLimit = 60

    /// Checks every range, and that the values go together.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration` for the first fault, with the source's name and what to do.
    public func validate() throws(WebSocketChatError) {
        do throws(WebSocketChatError) {
            try validateRequest()
            try validateHeaders()
            try validateSecurity()
            try validateMessages()
            try validateTimes()
            try reconnect?.validate()
        } catch {
            throw error.about(source)
        }
    }

    private func validateRequest() throws(WebSocketChatError) {
        guard subprotocols.count <= 32, subprotocols.allSatisfy(HeaderField.isToken),
            subprotocols.reduce(0, { $0 + $1.utf8.count }) <= 1_024
        else {
            throw fault("at most 32 subprotocols of together 1024 bytes are offered, each a token (RFC 9110, 5.6.2)")
        }
        guard Set(subprotocols).count == subprotocols.count else { throw fault("a subprotocol is offered twice") }
        if let origin {
            guard HeaderField.isWord(origin), origin.utf8.count <= ClientTarget.originLimit else {
                throw fault(
                    "an origin has 1 to \(ClientTarget.originLimit) bytes without spaces, such as https://app.example"
                )
            }
        }
    }

    private func validateHeaders() throws(WebSocketChatError) {
        guard headers.count <= 32 else { throw fault("a request has at most 32 further headers") }
        var names: Set<String> = []
        for header in headers {
            if let words = header.fault(hasBearer: bearer != nil) { throw fault("the header \(words)") }
            guard names.insert(header.name.lowercased()).inserted else {
                throw fault("the header \(header.name) is there twice")
            }
        }
        if case .text(let token) = bearer?.place, token.isEmpty || !HeaderField.isLine(token) {
            throw fault("the bearer token is empty or has control characters")
        }
    }

    private func validateSecurity() throws(WebSocketChatError) {
        if !url.isSecure {
            guard trust == .system else { throw fault("trust in certificates needs wss://") }
            guard identity == nil else { throw fault("a certificate of one's own needs wss://") }
        } else if url.host.first == "[" {
            throw fault("a certificate cannot be checked for an IPv6 address: use wss:// with a name")
        }
        var files = [identity?.certificateFile, identity?.keyFile].compactMap { $0 }
        if case .authority(let file) = trust { files.append(file) }
        guard files.allSatisfy({ !$0.isEmpty && HeaderField.isLine($0) }) else {
            throw fault("the path of a certificate or key file is empty or has control characters")
        }
    }

    private func validateMessages() throws(WebSocketChatError) {
        guard (1_024...1 << 30).contains(waitingBytes) else { throw fault("the waiting bytes are 1 KiB to 1 GiB") }
        guard openingMessages.count <= 100 else { throw fault("there are at most 100 opening messages") }
        let opening = openingMessages.reduce(0) { $0 + $1.utf8.count + TransportLimits.messageOverhead }
        guard opening <= waitingBytes else {
            throw fault("the opening messages take \(opening) bytes, more than may wait (\(waitingBytes))")
        }
        guard (1...10_000).contains(frames.batch) else { throw fault("a batch holds 1 to 10000 messages") }
        guard (1...1 << 30).contains(limits.bytes), (1...512).contains(limits.depth) else {
            throw fault("a message is limited to 1 to 2^30 bytes, and to a depth of 1 to 512")
        }
    }

    private func validateTimes() throws(WebSocketChatError) {
        guard (Duration.seconds(1) ... .seconds(WebSocketFeedConfiguration.connectLimit)).contains(connectTimeout)
        else {
            throw fault("a step of connecting may take 1 to \(WebSocketFeedConfiguration.connectLimit) s")
        }
        let times = Duration.seconds(1) ... .seconds(3_600)
        guard pingAfter.map(times.contains) ?? true else { throw fault("a ping is sent after 1 s to 1 h, or never") }
        guard times.contains(pongWithin) else { throw fault("the answer to a ping may take 1 s to 1 h") }
    }

    private func fault(_ detail: String) -> WebSocketChatError {
        WebSocketChatError(.invalidConfiguration, detail)
    }
}
