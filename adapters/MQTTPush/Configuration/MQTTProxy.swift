import AdapterSupport
public import SignalboxCore

/// A proxy through which a client connects to its broker.
///
/// The proxy resolves the broker's name, so the name need not be known to this machine. TLS is between the client and the
/// broker: the proxy sees neither messages nor credentials of an `mqtts://` or `wss://` connection. It sees the broker's
/// name and port.
public struct MQTTProxy: Sendable, Hashable, CustomStringConvertible {
    let server: ProxyServer
    /// The user for the proxy, if it requires a login. Needs a ``password``.
    ///
    /// An HTTP proxy takes a user of at most 1,024 bytes without a colon (Basic; RFC 7617), a SOCKS5 proxy one of at
    /// most 255 bytes (RFC 1929). Neither may contain control characters.
    public var username: String?
    /// The password of the user, with the same limits. The client reads it before each connection and sends it to the
    /// proxy unencrypted.
    public var password: Secret?

    /// Creates a proxy from a URL: `http://host:port` for an HTTP proxy that allows CONNECT, or `socks5://host:port`.
    /// Without a port, it is 80 or 1080.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` if the URL has a different scheme, a user, a password, a path or
    ///   a query. The error never quotes the URL, which may contain a password.
    public init(_ text: String) throws(MQTTPushError) {
        do throws(ProxyURLProblem) { server = try ProxyServer(url: text) } catch { throw .invalid(error.reason) }
    }

    /// The URL, without the login.
    public var description: String { server.description }
}

extension MQTTProxy {
    /// The proxy's name or address.
    package var host: String { server.host }

    /// Whether the proxy is on this machine.
    package var isLocal: Bool { server.isLocal }

    func validate() throws(MQTTPushError) {
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

    /// Reads the login, which can block.
    ///
    /// - Throws: ``MQTTPushError`` `secretUnavailable`.
    func login() throws(MQTTPushError) -> ProxyLogin? {
        guard let username, let password else { return nil }
        return ProxyLogin(user: username, password: try MQTTPushError.reading(password))
    }
}
