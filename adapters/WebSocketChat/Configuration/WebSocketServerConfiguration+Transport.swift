import SignalboxRoutes

extension WebSocketServerConfiguration {
    /// The origin of the server's own pages on the port it listens on; `nil` where they may not connect as such.
    func pagesOrigin(port: UInt16) -> WebOrigin? {
        guard let pagesHost else { return nil }
        return try? WebOrigin("\(identity == nil ? "http" : "https")://\(pagesHost):\(port)")
    }

    /// What the server offers, and where.
    var place: ServerPlace {
        var place = ServerPlace()
        // Of both families at once.
        place.address = address == "::" ? nil : address
        place.port = port
        place.identity = identity.map { .init(certificateFile: $0.certificateFile, keyFile: $0.keyFile) }
        place.subprotocols = subprotocols.filter { $0 != BearerToken.companion } + [BearerToken.companion]
        place.compresses = compression
        place.pages = ServerPages.all(of: self)
        place.http = httpLimits
        return place
    }

    /// The limits for HTTP connections, with defaults where the configuration has `nil`.
    var httpLimits: HTTPLimits {
        var limits = HTTPLimits()
        limits.connections = httpConnections ?? max(32, connections / 4)
        limits.connectionsPerAddress = httpConnectionsPerAddress ?? max(1, limits.connections / 2)
        limits.sockets = connections + limits.connections
        limits.requests = httpRequests
        limits.lifetime = httpTimeout
        return limits
    }

    var transportLimits: TransportLimits {
        var limits = TransportLimits()
        limits.waitingBytes = waitingBytes
        limits.allWaitingBytes = allWaitingBytes
        limits.pingAfter = UInt16(clamping: pingAfter.components.seconds)
        limits.cutAfter = UInt16(clamping: silenceLimit.components.seconds)
        limits.connectWithin = UInt32(clamping: handshakeTimeout.components.seconds)
        return limits
    }
}
