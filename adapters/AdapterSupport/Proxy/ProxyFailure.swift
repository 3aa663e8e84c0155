/// Why a proxy gave no connection to a server.
///
/// No case has a text from the proxy, because a proxy could repeat the login that it received.
package enum ProxyFailure: Error, Equatable, Sendable {
    /// The proxy's name could not be resolved, for the given reason.
    case notResolved(String)
    /// The proxy could not be reached, for the given reason.
    case unreachable(String)
    /// The proxy gave no connection within this time.
    case timeout(Duration)
    /// The proxy closed the connection before its answer was complete.
    case closed
    /// The answer is not the one of such a proxy.
    case invalidAnswer
    /// The answer is longer than ``ProxyHandshake/limit``.
    case answerTooLong
    /// An HTTP proxy answered with this status, which is not one of success.
    case status(Int)
    /// The proxy requires a login, and there is none.
    case loginRequired
    /// The proxy refused the login.
    case loginRefused
    /// The proxy requires a login of another kind than a user and a password.
    case loginNotSupported
    /// The login cannot be sent. The text says why.
    case loginUnusable(String)
    /// A SOCKS proxy answered with this code, which is not 0 (RFC 1928, 6).
    case reply(UInt8)
    /// The system does not have what the connection needs, for the given reason.
    case noResources(String)

    /// Whether the proxy, or its operator, denies the connection.
    package var isRefusal: Bool {
        switch self {
        case .loginRequired, .loginRefused, .loginNotSupported, .status(403), .reply(2): true
        default: false
        }
    }

    /// Whether the attempt would probably fail again in the same way.
    package var isConfigurationError: Bool {
        switch self {
        case .invalidAnswer, .answerTooLong, .loginUnusable, .status(400..<500), .reply(7), .reply(8): true
        default: isRefusal
        }
    }

    /// A word for the failure, for logs that count failures by kind.
    package var kind: String {
        switch self {
        case .notResolved, .unreachable, .timeout, .closed: "unreachable"
        case .invalidAnswer, .answerTooLong: "answer"
        case .status(let status): "status \(status)"
        case .loginRequired, .loginRefused, .loginNotSupported, .loginUnusable: "login"
        case .reply(let code): "reply \(code)"
        case .noResources: "resources"
        }
    }
}

extension ProxyFailure {
    /// Returns a sentence that names the proxy, and states what happened and what to do.
    ///
    /// - Parameter login: The names of the settings of the login, such as those of options.
    package func sentence(about proxy: ProxyServer, to destination: ProxyDestination, login: String) -> String {
        switch self {
        case .notResolved(let reason): "cannot resolve the host of the proxy \(proxy): \(reason)"
        case .unreachable(let reason): "cannot reach the proxy \(proxy): \(reason)"
        case .timeout(let limit):
            "the proxy \(proxy) opened no connection to \(destination) within \(limit.secondsDescription): check the "
                + "proxy, and that it can reach the server"
        case .closed:
            "the proxy \(proxy) closed the connection without a complete answer: check its address, its kind "
                + "(\(proxy.kind.rawValue)), and that it accepts this client"
        case .invalidAnswer:
            "the answer of \(proxy) is not that of \(proxy.kind.title): check the address and the kind of the proxy"
        case .answerTooLong: "the answer of the proxy \(proxy) is longer than \(ProxyHandshake.limit) bytes"
        case .loginRequired: "the proxy \(proxy) requires a login. Set \(login)"
        case .loginRefused: "the proxy \(proxy) refused the login. Check \(login)"
        case .loginNotSupported:
            "the proxy \(proxy) requires a login of a kind that is not supported: only a user "
                + "and a password\(proxy.kind == .http ? " (Basic)" : "") are"
        case .loginUnusable(let problem): "cannot log in to the proxy \(proxy): \(problem)"
        case .status(let status):
            "the proxy \(proxy) did not connect to \(destination): status \(status). "
                + ProxyFailure.advice(status, destination)
        case .reply(let code):
            "the proxy \(proxy) did not connect to \(destination): code \(code), "
                + ProxyFailure.meaning(ofReply: code)
        case .noResources(let reason): "cannot use the proxy \(proxy): \(reason)"
        }
    }

    private static func advice(_ status: Int, _ destination: ProxyDestination) -> String {
        switch status {
        case 300..<400: "It redirects instead, which a connection cannot follow: check the address of the proxy"
        case 403: "It does not allow this host or port: ask its operator"
        case 400, 404, 405, 501: "It may not be a proxy, or not allow CONNECT: check its address"
        case 429: "It has too many requests: try again later"
        case 500, 502, 503: "It cannot reach the server: check the host and the port of the URL"
        case 504: "The server did not answer it in time: check the host and the port of the URL"
        default: "Ask its operator"
        }
    }

    /// The meaning of a reply (RFC 1928, 6), and what to do.
    private static func meaning(ofReply code: UInt8) -> String {
        switch code {
        case 1: "a general failure. The proxy does not say more: see its log"
        case 2: "not allowed by its rules. Ask its operator to allow this host and port"
        case 3: "the network is unreachable. Check the network of the proxy"
        case 4: "the host is unreachable. Check the host of the URL, which the proxy resolves"
        case 5: "the server refused the connection. Check the port of the URL"
        case 6: "the time to live expired. Check the network of the proxy"
        case 7: "it does not support CONNECT. Use another proxy"
        case 8: "it does not support this type of address. Use a host name in the URL, or an IPv4 address"
        default: "which has no assigned meaning. See the log of the proxy"
        }
    }
}

extension ProxyServer.Kind {
    fileprivate var title: String {
        switch self {
        case .http: "an HTTP proxy"
        case .socks5: "a SOCKS5 proxy"
        }
    }
}
