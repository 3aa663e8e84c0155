import AdapterSupport
import SignalboxCore
import WebSocketChat

/// Who may ask.
struct ObservationAccess: Sendable {
    static let headerNames = ["host", "authorization", "origin", "sec-fetch-site"]

    /// The token that shows everything. Empty if no token is needed.
    let tokens: PrincipalTokens
    /// Whether only this machine reaches the listener.
    let isLocal: Bool
    /// Whether sources may have the same listener.
    let isShared: Bool

    /// Returns why a request is refused, or `nil` if it is not. No page may learn anything through a browser that reaches the
    /// listener, not even if the page's owner points a host name at this machine.
    func refusal(of request: HTTPServerRequest) -> String? {
        if let origin = request.headers["origin"], !origin.isEmpty { return "pages may not ask" }
        if let site = request.headers["sec-fetch-site"], site != "none" { return "pages may not ask" }
        guard isLocal || tokens.isEmpty else { return nil }
        return hostRefusal(of: request).map { "\($0), or a token must be required" }
    }

    /// Returns why a request for the console is refused, or `nil` if it is not. Only its own page may ask, and a link to the page may
    /// be anywhere, because the page itself has no data.
    func refusal(of request: HTTPServerRequest, for endpoint: ConsoleEndpoint) -> String? {
        let host = request.headers["host"] ?? ""
        if let origin = request.headers["origin"], !origin.isEmpty {
            guard origin == "\(request.isSecure ? "https" : "http")://\(host)" else { return "other pages may not ask" }
        }
        if let site = request.headers["sec-fetch-site"], endpoint != .page {
            guard ["none", "same-origin"].contains(site) else { return "other pages may not ask" }
        }
        return isLocal ? hostRefusal(of: request) : nil
    }

    private func hostRefusal(of request: HTTPServerRequest) -> String? {
        guard let host = request.headers["host"] else { return nil }
        let name = ObservationAccess.name(ofHost: host)
        return NumericAddress(name) != nil || name.lowercased() == "localhost"
            ? nil : "the Host must be an address or localhost"
    }

    /// Whether the request has the token, if one is needed.
    func isAuthorized(_ request: HTTPServerRequest) -> Bool {
        guard !tokens.isEmpty else { return true }
        guard let header = request.headers["authorization"], let stated = BearerToken.credentials(header) else {
            return false
        }
        return tokens.principal(presenting: stated) != nil
    }

    /// Returns the host of `HOST:PORT`, an IPv6 address without brackets.
    private static func name(ofHost host: String) -> String {
        if host.hasPrefix("[") { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }
}
