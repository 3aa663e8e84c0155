/// Asks a proxy for a connection to a server. This is a pure machine: the owner sends and reads the bytes.
///
/// The owner sends the bytes of ``begin()``, and passes each piece of the answer to ``receive(_:)`` until the connection
/// is open. The result does not depend on how the answer is divided into pieces, with one exception: a SOCKS proxy that
/// answers before it was asked is refused only if a piece shows that.
package struct ProxyHandshake: Sendable {
    /// What the owner must do next.
    package enum Step: Equatable, Sendable {
        /// Read more of the answer.
        case read
        /// Send these bytes, then read.
        case send([UInt8])
        /// Nothing: the connection to the server is open. The bytes are the first ones that the server has sent.
        case open(first: [UInt8])
    }

    private enum Form: Sendable {
        case http(ConnectRequest)
        case socks5(SOCKSRequest)
    }

    /// The maximum number of bytes in a proxy's answers together.
    package static let limit = 8_192

    private var form: Form

    /// - Parameter login: The login to use if the proxy requires one.
    package init(_ kind: ProxyServer.Kind, to destination: ProxyDestination, login: ProxyLogin?) {
        switch kind {
        case .http: form = .http(ConnectRequest(destination, login))
        case .socks5: form = .socks5(SOCKSRequest(destination, login))
        }
    }

    /// Returns the first bytes to send.
    ///
    /// - Throws: ``ProxyFailure`` `loginUnusable`.
    package func begin() throws(ProxyFailure) -> [UInt8] {
        switch form {
        case .http(let request): try request.begin()
        case .socks5(let request): try request.begin()
        }
    }

    /// Takes a piece of the answer. The machine must not be used after it is open or has failed.
    package mutating func receive(_ bytes: ArraySlice<UInt8>) throws(ProxyFailure) -> Step {
        switch form {
        case .http(var request):
            defer { form = .http(request) }
            return try request.receive(bytes)
        case .socks5(var request):
            defer { form = .socks5(request) }
            return try request.receive(bytes)
        }
    }
}

extension ProxyLogin {
    /// Checks that the login can be sent to a proxy of this kind.
    func validate(for kind: ProxyServer.Kind) throws(ProxyFailure) {
        if let problem = ProxyLogin.problem(ofUser: user, for: kind) {
            throw .loginUnusable("the user name of the proxy \(problem)")
        }
        if let problem = ProxyLogin.problem(of: password, for: kind) {
            throw .loginUnusable("the password of the proxy \(problem)")
        }
    }
}
