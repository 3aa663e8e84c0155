package import AdapterSupport

/// Opens connections for a thread that must be able to stop at any time.
package enum Dialer {
    /// A function that returns the numeric addresses of a host name. It may block.
    package typealias Resolver = @Sendable (String) throws(LookupFailure) -> [String]

    /// Connects to a server. The handshakes of TLS and of a WebSocket are left to ``Link/advance()``.
    ///
    /// The calling thread waits, but not for anything that cannot be interrupted: names are resolved and proxies asked on the threads of ``BlockingThreadPool``. What is still in progress there when this
    /// method returns ends by itself.
    ///
    /// - Parameters:
    ///   - wake: The signal that interrupts the wait. Wake-ups during this call are consumed, so check everything that
    ///     they may stand for afterwards.
    ///   - isStopping: Whether to give up. This closure is called after each wake-up.
    ///   - end: When the time for the attempt is over.
    ///   - resolve: The function that resolves names.
    /// - Returns: The link, or `nil` if the thread is stopping.
    /// - Throws: ``LinkError``.
    package static func open(
        _ destination: Destination,
        wake: WakeSignal,
        isStopping: @escaping () -> Bool,
        until end: ContinuousClock.Instant,
        resolve: @escaping Resolver = { host throws(LookupFailure) in try AddressLookup.addresses(of: host) }
    ) throws(LinkError) -> (any Link)? {
        let wait = DialWait(wake: wake, isStopping: isStopping, end: end)
        guard let socket = try connect(destination, wait, resolve) else { return nil }
        var link: any Link = socket
        if let context = destination.tls { link = try context.makeLink(over: socket, host: destination.host) }
        return destination.webSocket.map { WebSocketLink(over: link, $0) } ?? link
    }

    private static func connect(
        _ destination: Destination,
        _ wait: DialWait,
        _ resolve: @escaping Resolver
    ) throws(LinkError) -> SocketLink? {
        switch destination.kind {
        case .unix(let path): return try UnixConnector.connect(to: path, wait).map { SocketLink($0) }
        case .tcp(let host, let port):
            if let proxy = destination.proxy {
                let target = ProxyDestination(host: host, port: port)
                let tunnel = try open(to: target, through: proxy, destination.proxyLogin, wait, resolve)
                return tunnel.map { SocketLink($0.descriptor, first: $0.first) }
            }
            guard let addresses = try addresses(of: host, wait, resolve) else { return nil }
            return try TCPConnector.connect(to: addresses, port, wait).map { SocketLink($0) }
        }
    }

    // MARK: - Blocking work

    private static func addresses(
        of host: String,
        _ wait: DialWait,
        _ resolve: @escaping Resolver
    ) throws(LinkError) -> [String]? {
        guard NumericAddress(host) == nil else { return [host] }
        return try wait.result(on: .shared) { () throws(LinkError) in
            do throws(LookupFailure) { return try resolve(host) } catch { throw .notResolved(error.reason) }
        }
    }

    private static func open(
        to target: ProxyDestination,
        through proxy: ProxyServer,
        _ login: ProxyLogin?,
        _ wait: DialWait,
        _ resolve: @escaping Resolver
    ) throws(LinkError) -> ProxyTunnel? {
        let end = wait.end
        let limit = max(.zero, end - .now)
        let work: @Sendable () throws(ProxyFailure) -> ProxyTunnel = { () throws(ProxyFailure) in
            var addresses = [proxy.host]
            if NumericAddress(proxy.host) == nil {
                do throws(LookupFailure) {
                    addresses = try resolve(proxy.host)
                } catch {
                    throw .notResolved(error.reason)
                }
            }
            return try ProxyTunnel.open(
                to: target,
                through: proxy,
                at: addresses,
                login: login,
                within: limit,
                until: end
            )
        }
        return try wait.result(on: .proxies, timeout: .proxy(.timeout(limit))) { () throws(LinkError) in
            do throws(ProxyFailure) { return try work() } catch { throw .proxy(error) }
        }
    }
}
