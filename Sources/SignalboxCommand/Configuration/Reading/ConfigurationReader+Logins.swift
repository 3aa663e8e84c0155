import SignalboxCore
import WebSocketChat

/// Reads how a feed reaches its server and logs in.
extension ConfigurationReader {
    /// Returns a feed's proxy: a URL, or a mapping with a URL and a login.
    func proxy(_ value: YAMLValue) -> WebSocketProxy? {
        let isReference = value.keys?.allSatisfy(["env", "file"].contains) ?? false
        guard value.isMapping, !isReference else { return proxyURL(value) }
        return value.mapping("proxy") { keys in
            var proxy = keys.required("url", "write http://host:port or socks5://host:port").flatMap(proxyURL)
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
    private func proxyURL(_ value: YAMLValue) -> WebSocketProxy? {
        guard let text = text(value, unread: "http://\(ConfigurationReader.unreadHost)") else { return nil }
        return value.checked { try WebSocketProxy(text) }
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
