#if WebSocket
import AdapterSupport
import SecureTransport
import SignalboxCore

/// What an attempt to connect needs: the current secrets and the addresses to try.
struct FeedPreparation: Sendable {
    /// The headers and their values, including the bearer token or the login.
    let headers: [HeaderField]
    /// The numeric addresses, in the order in which to try them. There is at least one.
    let addresses: [String]
    /// The path of a Unix socket to connect to instead of the addresses.
    var unixSocket: String?
    /// The connection through a proxy, if there is one. It ends when the last reference to it is released.
    var tunnel: ProxyTunnel?
    /// How to use TLS, if the URL says so.
    var tls: TLSContext?

    /// Returns whether ``make(_:resolve:)`` can block for this configuration.
    static func mayBlock(_ configuration: WebSocketFeedConfiguration) -> Bool {
        // Certificates are in files.
        guard configuration.proxy == nil, !configuration.url.isSecure else { return true }
        let needsLookup = configuration.unixSocket == nil && NumericAddress(configuration.url.hostName) == nil
        guard !needsLookup else { return true }
        let login = configuration.login
        let secrets =
            configuration.headers.map(\.value)
            + [configuration.bearer, login?.username, login?.password]
            .compactMap { $0 }
        return !secrets.allSatisfy { secret in
            if case .text = secret.source { true } else { false }
        }
    }

    /// Why a preparation failed that has not ended in time.
    static func timeout(_ configuration: WebSocketFeedConfiguration) -> DisconnectReason {
        let limit = configuration.connectTimeout
        return configuration.proxy == nil ? .lookupTimeout(limit) : .proxyFailed(.timeout(limit))
    }

    /// Reads the secrets and the certificates, and resolves the host or opens the connection through the proxy. May
    /// block.
    ///
    /// - Parameters:
    ///   - deadline: When the attempt ends. A proxy is not asked after that.
    ///   - resolve: A function that returns the addresses for a name.
    static func make(
        _ configuration: WebSocketFeedConfiguration,
        until deadline: ContinuousClock.Instant? = nil,
        resolve: (String) -> Result<[String], DisconnectReason>
    ) -> Result<FeedPreparation, DisconnectReason> {
        Result { () throws(DisconnectReason) in
            var headers: [HeaderField] = []
            for header in configuration.headers { headers.append(try field(header.name, header.value)) }
            if let bearer = configuration.bearer { headers.append(try field("Authorization", bearer, "Bearer ")) }
            if let credentials = try configuration.login?.credentials(),
                let header = HeaderField("Authorization", credentials)
            {
                headers.append(header)
            }
            let tls = try configuration.tlsContext()
            let host = configuration.url.hostName
            // The host stands for the only address, and the server that listens on the socket sees it in the request.
            if let path = configuration.unixSocket {
                return FeedPreparation(headers: headers, addresses: [host], unixSocket: path, tls: tls)
            }
            if let proxy = configuration.proxy {
                let destination = ProxyDestination(host: host, port: configuration.url.port)
                let limit = configuration.connectTimeout
                let tunnel = try proxy.open(
                    to: destination,
                    within: limit,
                    until: deadline ?? .now + limit,
                    resolve: resolve
                )
                // The host stands for the only address.
                return FeedPreparation(headers: headers, addresses: [host], tunnel: tunnel, tls: tls)
            }
            let addresses = NumericAddress(host) == nil ? try resolve(host).get() : [host]
            return FeedPreparation(headers: headers, addresses: addresses, tls: tls)
        }
    }

    private static func field(_ name: String, _ secret: Secret, _ prefix: String = "") throws(DisconnectReason)
        -> HeaderField
    {
        let value: String
        do throws(SecretUnavailable) { value = try secret.read() } catch { throw .secretUnavailable(error.description) }
        guard !value.isEmpty else {
            throw .secretUnavailable("the \(secret) is empty, so it cannot be sent as the header \(name)")
        }
        guard let field = HeaderField(name, prefix + value) else {
            throw .secretUnavailable(
                "the \(secret) contains control characters, so it cannot be sent as the header \(name)"
            )
        }
        return field
    }

    /// Returns the target for the given address.
    func target(_ address: String, _ configuration: WebSocketFeedConfiguration) -> ClientTarget {
        var target = ClientTarget(
            address: address,
            port: configuration.url.port,
            host: configuration.url.hostHeader,
            path: configuration.url.target
        )
        target.unixSocket = unixSocket
        target.tunnel = tunnel
        target.tls = tls
        target.subprotocols = configuration.subprotocols
        target.origin = configuration.origin
        target.headers = headers
        target.offersCompression = configuration.compression
        target.waitingBytes = configuration.waitingBytes
        return target
    }
}

/// A preparation on a thread of a pool.
struct PreparationJob {
    let pool: BlockingThreadPool
    let ticket: BlockingThreadPool.Ticket

    /// Cancels the job, unless it has started.
    func cancel() {
        pool.cancel(ticket)
    }
}
#endif
