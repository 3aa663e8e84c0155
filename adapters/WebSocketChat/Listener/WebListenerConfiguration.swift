import AdapterSupport
import SignalboxCore

/// The configuration of a ``WebListener``: its address, its certificate and the limits of its connections.
public struct WebListenerConfiguration: Sendable, Hashable {
    /// The numeric address to listen on. Write IPv6 addresses without brackets.
    ///
    /// The default, `127.0.0.1`, is reachable only from this machine. `::` stands for every address of the machine.
    public var address = "127.0.0.1"
    /// The port to listen on. If it is 0, the system chooses a port.
    public var port: UInt16
    /// The certificate. The default, `nil`, disables TLS.
    public var identity: WebSocketIdentity?
    /// The maximum number of WebSockets of all sources together. Must be between 1 and 1,000,000; the default is 1,000.
    public var connections = 1_000
    /// The maximum number of HTTP connections, as ``WebSocketServerConfiguration/httpConnections`` describes. Must be between
    /// 1 and 1,000,000; the default is 1,000.
    ///
    /// A connection whose request waits for its plugin is not evicted.
    public var httpConnections = 1_000
    /// The maximum number of HTTP connections from one address. Must be between 1 and ``httpConnections``. The default,
    /// `nil`, means half of ``httpConnections``.
    public var httpConnectionsPerAddress: Int?
    /// The maximum number of requests per HTTP connection. Must be between 1 and 1,000,000; the default is 1,000.
    public var httpRequests = 1_000
    /// The maximum time to send a document, to receive the body of a request, or to send an answer. Must be between 1 s and
    /// 1 h; the default is 30 s.
    ///
    /// The time that a plugin takes does not count.
    public var httpTimeout: Duration = .seconds(30)
    /// The maximum lifetime of an HTTP connection. Must be between 1 s and 7 days; the default is 1 h.
    ///
    /// A request that has begun is still answered. In the second half of the lifetime, responses include `Connection: close`.
    public var httpLifetime: Duration = .seconds(3_600)
    /// The maximum time between two requests on one connection. Must be between 1 s and 1 h, in whole seconds; the default is
    /// 60 s.
    public var keepAlive: Duration = .seconds(60)
    /// The timeout for each step of opening a connection. Must be between 1 s and 1 h, in whole seconds; the default is
    /// 10 s.
    public var handshakeTimeout: Duration = .seconds(10)
    /// How long a WebSocket's client can be silent before the server pings it. Must be between 1 s and 1 h, in whole seconds;
    /// the default is 30 s.
    public var pingAfter: Duration = .seconds(30)
    /// How long a WebSocket's client can be silent, even when pinged, before it counts as lost. The default is 45 s.
    ///
    /// The value must be in whole seconds, more than ``pingAfter`` and at most 2 h.
    public var silenceLimit: Duration = .seconds(45)
    /// The maximum number of bytes waiting to be sent on one connection, unless its source has a limit of its own. Must be
    /// between 1 KiB and 1 GiB; the default is 1 MiB.
    public var waitingBytes = 1_048_576
    /// The maximum number of bytes waiting to be sent on all connections together. Must be at least ``waitingBytes`` and at
    /// most 64 GiB; the default is 64 MiB.
    public var allWaitingBytes = 67_108_864

    /// Creates a configuration for a listener that can be reached only from this machine.
    public init(port: UInt16) {
        self.port = port
    }

    /// Checks that every value is valid, without opening a file or a port.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration` for the first invalid value, with advice on how to fix it.
    public func validate() throws(WebSocketChatError) {
        var server = WebSocketServerConfiguration(source: WebListenerConfiguration.anySource, port: port)
        server.adopt(self)
        server.absentOrigin = .allowed
        server.waitingBytes = waitingBytes
        server.httpTimeout = httpTimeout
        do {
            try server.validate()
        } catch {
            throw .invalid(error.detail)
        }
        guard keepAlive.isWholeSeconds(in: 1...3_600) else {
            throw .invalid("keepAlive must be a whole number of seconds, 1 to 3600")
        }
        guard (Duration.seconds(1) ... .seconds(7 * 86_400)).contains(httpLifetime) else {
            throw .invalid("httpLifetime must be 1 s to 7 days")
        }
    }

    /// Stands for the sources that share the listener.
    private static let anySource: SourceName = "listener"
}

extension WebListenerConfiguration {
    /// The transport's settings, without the sites.
    var endpoint: ServerEndpoint {
        var endpoint = ServerEndpoint()
        // A `nil` address listens on both IPv4 and IPv6.
        endpoint.address = address == "::" ? nil : address
        endpoint.port = port
        endpoint.identity = identity
        endpoint.http.connections = httpConnections
        endpoint.http.connectionsPerAddress = httpConnectionsPerAddress ?? max(1, httpConnections / 2)
        endpoint.http.sockets = connections + httpConnections
        endpoint.http.requests = httpRequests
        endpoint.http.lifetime = httpLifetime
        endpoint.http.transferTime = httpTimeout
        endpoint.http.idleSeconds = Int32(clamping: keepAlive.components.seconds)
        return endpoint
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

    /// Returns the listener's URL when it has the given port.
    package func url(port: UInt16) -> String {
        "\(identity == nil ? "http" : "https")://\(NumericAddress(address)?.inURL ?? address):\(port)"
    }
}

extension WebSocketServerConfiguration {
    /// Takes over what a shared listener decides.
    package mutating func adopt(_ listener: WebListenerConfiguration) {
        address = listener.address
        port = listener.port
        identity = listener.identity
        httpConnections = listener.httpConnections
        httpConnectionsPerAddress = listener.httpConnectionsPerAddress
        httpRequests = listener.httpRequests
        handshakeTimeout = listener.handshakeTimeout
        pingAfter = listener.pingAfter
        silenceLimit = listener.silenceLimit
        allWaitingBytes = listener.allWaitingBytes
    }

    /// The listener of a server that shares none.
    var ownListener: WebListenerConfiguration {
        var listener = WebListenerConfiguration(port: port)
        listener.address = address
        listener.identity = identity
        listener.connections = connections
        let limits = httpLimits
        listener.httpConnections = limits.connections
        listener.httpConnectionsPerAddress = limits.connectionsPerAddress
        listener.httpRequests = httpRequests
        listener.httpTimeout = httpTimeout
        listener.httpLifetime = httpTimeout
        listener.keepAlive = handshakeTimeout
        listener.handshakeTimeout = handshakeTimeout
        listener.pingAfter = pingAfter
        listener.silenceLimit = silenceLimit
        listener.waitingBytes = waitingBytes
        listener.allWaitingBytes = allWaitingBytes
        return listener
    }
}
