package import AdapterSupport

/// Where a connection goes to, and through what.
package struct Destination: Sendable {
    package enum Kind: Sendable, Hashable {
        /// A host name or a numeric address. An IPv6 address is written without brackets.
        case tcp(host: String, port: UInt16)
        /// The path of a unix socket, without proxies. With TLS, the server is expected to be `localhost`.
        case unix(path: String)
    }

    package var kind: Kind
    /// How to use TLS with the host, or `nil` for no encryption.
    package var tls: TLSContext?
    /// The request for a WebSocket, or `nil` for a connection without one.
    package var webSocket: WebSocketUpgrade?
    /// The proxy, which resolves the host's name.
    package var proxy: ProxyServer?
    /// The login for the proxy.
    package var proxyLogin: ProxyLogin?

    package init(
        _ kind: Kind,
        tls: TLSContext? = nil,
        webSocket: WebSocketUpgrade? = nil,
        proxy: ProxyServer? = nil,
        proxyLogin: ProxyLogin? = nil
    ) {
        self.kind = kind
        self.tls = tls
        self.webSocket = webSocket
        self.proxy = proxy
        self.proxyLogin = proxyLogin
    }

    /// The host whose certificate is expected.
    var host: String {
        switch kind {
        case .tcp(let host, _): host
        case .unix: "localhost"
        }
    }
}
