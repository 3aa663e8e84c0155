import Signalbox
import SignalboxCore
import WebSocketChat

/// Reads how a source reaches its server and logs in.
extension ConfigurationReader {
    /// Returns a source's proxy: a URL, or a mapping with a URL and a login.
    func proxy<Proxy: ProxySettings>(_ value: YAMLValue) -> Proxy? {
        let isReference = value.keys?.allSatisfy(["env", "file"].contains) ?? false
        guard value.isMapping, !isReference else { return proxyURL(value) }
        return value.mapping("proxy") { keys in
            let url = keys.required("url", "write http://host:port or socks5://host:port")
            var proxy: Proxy? = url.flatMap(proxyURL)
            var username: String?
            keys.read("username", &username) { text($0, unread: "user") }
            // An invalid password is reported already, so nothing else should be reported because of it.
            let password = keys.optional("password").map { secret($0, "a password") ?? .environment("") }
            proxy?.username = username
            proxy?.password = password
            checkLogin(proxy, keys)
            return proxy
        }
    }

    /// Returns the URL of a proxy. Messages never repeat it, because it may contain a password.
    private func proxyURL<Proxy: ProxySettings>(_ value: YAMLValue) -> Proxy? {
        guard let text = text(value, unread: "http://\(ConfigurationReader.unreadHost)") else { return nil }
        return value.checked { try Proxy(text) }
    }

    /// Returns the headers of the request for a WebSocket.
    ///
    /// - Parameter make: Returns the header with this name and value.
    func headers<Header>(_ value: YAMLValue, _ make: (_ name: String, _ value: Secret) -> Header) -> [Header]? {
        value.anyMapping()?.entries.compactMap { entry in
            if entry.value.isMapping { return secret(entry.value, "a secret header").map { make(entry.name, $0) } }
            guard let text = entry.value.text(), isWithoutSecret("\(entry.name): \(text)", "a token", at: entry.value)
            else { return nil }
            return make(entry.name, .text(text))
        }
    }

    /// Returns whether the text contains no secret. If the text looks like a secret, this method reports it.
    func isWithoutSecret(_ text: String, _ what: String, at value: YAMLValue) -> Bool {
        guard !value.isMapping, Redaction.redacted(text) != text else { return true }
        reportSecret(what, at: value)
        return false
    }

    /// Returns a feed's login for the server.
    func login(_ keys: YAMLMapping) -> WebSocketLogin? {
        let password = keys.optional("password").flatMap { secret($0, "a password") }
        guard let username = keys.optional("username") else {
            keys.optional("password")?.reportError("a password needs a 'username'; add it", .missingKey)
            return nil
        }
        return text(username).map { WebSocketLogin(username: .text($0), password: password) }
    }
}
