import AdapterSupport
public import SignalboxCore

/// A proxy through which a feed connects to its server.
///
/// The proxy resolves the server's name, so the name need not be known to this machine. TLS is between the feed and the
/// server: the proxy sees neither messages nor headers of a `wss://` connection. It sees the server's name and port.
public struct WebSocketProxy: Sendable, Hashable, CustomStringConvertible {
    let server: ProxyServer
    /// The user for the proxy, if it requires a login. Needs a ``password``.
    ///
    /// An HTTP proxy takes a user of at most 1,024 bytes without a colon (Basic; RFC 7617), a SOCKS5 proxy one of at
    /// most 255 bytes (RFC 1929). Neither may contain control characters.
    public var username: String?
    /// The password of the user, with the same limits. The feed reads it before each connection and sends it to the
    /// proxy unencrypted.
    public var password: Secret?

    /// Creates a proxy from a URL: `http://host:port` for an HTTP proxy that allows CONNECT, or `socks5://host:port`.
    /// Without a port, it is 80 or 1080.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidURL` if the URL has a different scheme, a user, a password, a path or a
    ///   query. The error never quotes the URL, which may contain a password.
    public init(_ text: String) throws(WebSocketChatError) {
        do throws(ProxyURLProblem) {
            server = try ProxyServer(url: text)
        } catch {
            throw WebSocketChatError(.invalidURL, error.reason)
        }
    }

    /// The URL, without the login.
    public var description: String { server.description }
}

extension WebSocketProxy {
    /// The proxy's name or address.
    package var host: String { server.host }

    /// Whether the proxy is on this machine.
    package var isLocal: Bool { server.isLocal }

    func validate() throws(WebSocketChatError) {
        guard (username == nil) == (password == nil) else {
            throw .invalid("a login of a proxy needs both a user name and a password")
        }
        if let username, let problem = ProxyLogin.problem(ofUser: username, for: server.kind) {
            throw .invalid("the user name of the proxy \(problem)")
        }
        if case .text(let text) = password?.source, let problem = ProxyLogin.problem(of: text, for: server.kind) {
            throw .invalid("the password of the proxy \(problem)")
        }
    }

    /// Reads the login, and opens a connection to the server through the proxy. Blocks.
    ///
    /// - Parameters:
    ///   - limit: The time of an attempt, for errors.
    ///   - deadline: When the attempt ends.
    ///   - resolve: A function that returns the addresses for the proxy's name.
    func open(
        to destination: ProxyDestination,
        within limit: Duration,
        until deadline: ContinuousClock.Instant,
        resolve: (String) -> Result<[String], DisconnectReason>
    ) throws(DisconnectReason) -> ProxyTunnel {
        let login = try login()
        do throws(ProxyFailure) {
            // The attempt may have ended while this waited for a thread.
            guard .now < deadline else { throw ProxyFailure.timeout(limit) }
            return try ProxyTunnel.open(
                to: destination,
                through: server,
                at: try addresses(resolve),
                login: login,
                within: limit,
                until: deadline
            )
        } catch {
            throw .proxyFailed(error)
        }
    }

    private func login() throws(DisconnectReason) -> ProxyLogin? {
        guard let username, let password else { return nil }
        do throws(SecretUnavailable) {
            return ProxyLogin(user: username, password: try password.read())
        } catch {
            throw .secretUnavailable(error.description)
        }
    }

    private func addresses(_ resolve: (String) -> Result<[String], DisconnectReason>) throws(ProxyFailure) -> [String] {
        guard NumericAddress(server.host) == nil else { return [server.host] }
        switch resolve(server.host) {
        case .success(let addresses): return addresses
        case .failure(.notResolved(let reason)): throw .notResolved(reason)
        case .failure: throw .notResolved("the host has no address")
        }
    }
}
