import ArgumentParser
import MQTTPush
import SignalboxCore
import WebSocketChat

/// The options for a proxy between a command and its server.
struct ProxyArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Connect through this proxy: http://host:port (CONNECT) or socks5://host:port. http_proxy has no effect.",
            valueName: "url"
        )
    )
    var proxy: String?

    @Option(help: ArgumentHelp("The user name for the proxy; requires a password.", valueName: "name"))
    var proxyUser: String?

    @Option(help: ArgumentHelp("The environment variable that holds the proxy's password.", valueName: "name"))
    var proxyPasswordEnv: String?

    @Option(
        help: ArgumentHelp("The file that holds the proxy's password.", valueName: "path"),
        completion: .file()
    )
    var proxyPasswordFile: String?

    /// The settings of the proxy's login, in terms of these options.
    static let loginNames = "--proxy-user and --proxy-password-env or --proxy-password-file"

    /// The options with the files that they name.
    var files: [(option: String, path: String?)] { [("--proxy-password-file", proxyPasswordFile)] }

    /// Returns the proxy, or `nil` if no option names one.
    func server<Proxy: ProxySettings>() throws(ValidationError) -> Proxy? {
        let password = try Secret.option("--proxy-password", variable: proxyPasswordEnv, file: proxyPasswordFile)
        guard let proxy else {
            guard proxyUser == nil, password == nil else {
                throw ValidationError("a login for a proxy requires the proxy; add --proxy http://host:port")
            }
            return nil
        }
        guard password == nil || proxyUser != nil else {
            throw ValidationError("the proxy's password requires a user name; add --proxy-user")
        }
        guard proxyUser == nil || password != nil else {
            throw ValidationError("--proxy-user requires --proxy-password-env or --proxy-password-file")
        }
        var server = try ValidationError.checked("--proxy") { try Proxy(proxy) }
        server.username = proxyUser
        server.password = password
        return server
    }
}

/// What the proxies of feeds and of brokers' clients have in common.
protocol ProxySettings {
    var username: String? { get set }
    var password: Secret? { get set }
    /// The proxy's name or address.
    var host: String { get }
    /// Whether the proxy is on this machine.
    var isLocal: Bool { get }

    /// Creates a proxy from its URL. The error never quotes the URL, which may contain a password.
    init(_ url: String) throws
}

extension WebSocketProxy: ProxySettings {}
extension MQTTProxy: ProxySettings {}
