import AdapterSupport
import SignalboxRoutes

/// The address of an MQTT broker.
public struct MQTTBroker: Sendable, Hashable, CustomStringConvertible {
    /// What carries the MQTT packets.
    public enum Transport: Sendable, Hashable {
        /// A TCP connection, as with the schemes `mqtt` and `mqtts`.
        case tcp
        /// A WebSocket with the subprotocol `mqtt` (MQTT 5.0, 6), as with the schemes `ws` and `wss`. The path begins with
        /// `/` and may have a query.
        case webSocket(path: String)
        /// A Unix socket with this path, as with `unix:/path`.
        case unixSocket(path: String)
    }

    /// The default port of `mqtt://host` (IANA: `mqtt`).
    public static let standardPort = 1883
    /// The default port of `mqtts://host` (IANA: `secure-mqtt`).
    public static let standardTLSPort = 8883

    /// A host name or an address. An IPv6 address is written without brackets. For a Unix socket, this is `localhost`.
    public let host: String
    /// The TCP port, 1 to 65,535. It has no meaning for a Unix socket.
    public let port: Int
    /// Whether connections use TLS, as they do with the schemes `mqtts` and `wss`.
    public let usesTLS: Bool
    /// What carries the MQTT packets.
    public let transport: Transport

    /// Creates the address of a broker that is reached through TCP or a WebSocket.
    ///
    /// - Parameters:
    ///   - host: A host name or an address. Write an IPv6 address without brackets.
    ///   - port: The TCP port. The default is 1883, or 8883 with TLS. For a WebSocket, it is 80, or 443 with TLS.
    ///   - usesTLS: Whether connections use TLS. The default is `false`.
    ///   - webSocketPath: The path of a WebSocket with its query, percent-encoded, or `nil` for TCP. The path must begin
    ///     with `/` and have at most 2,048 bytes. The default is `nil`.
    /// - Throws: ``MQTTPushError`` `invalidBroker` if the host is empty, the host contains a character that is not
    ///   allowed in host names, the port is out of range, or the path is malformed.
    public init(
        host: String,
        port: Int? = nil,
        usesTLS: Bool = false,
        webSocketPath: String? = nil
    ) throws(MQTTPushError) {
        guard HostName.isValid(host) else {
            throw MQTTPushError(.invalidBroker, "a broker's host must be an ASCII name or address")
        }
        transport = webSocketPath.map { .webSocket(path: $0) } ?? .tcp
        let port = port ?? MQTTBroker.standardPort(of: transport, usesTLS: usesTLS)
        guard (1...65_535).contains(port) else {
            throw MQTTPushError(.invalidBroker, "a broker's port must be 1 to 65535")
        }
        if let path = webSocketPath {
            let isAllowed = { (byte: UInt8) in byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#") }
            guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count <= MQTTBroker.pathLimit,
                path.utf8.allSatisfy(isAllowed)
            else {
                throw MQTTPushError(
                    .invalidBroker,
                    "the path of a broker's WebSocket must begin with / and have at most \(MQTTBroker.pathLimit) ASCII "
                        + "characters, without spaces and #"
                )
            }
        }
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
    }

    /// Creates the address of a broker that is reached through a Unix socket, without TLS.
    ///
    /// - Parameter path: The path, with 1 to 107 bytes (103 on macOS) and without control characters.
    /// - Throws: ``MQTTPushError`` `invalidBroker` if the path is not valid.
    public init(unixSocket path: String) throws(MQTTPushError) {
        let isPlain = !path.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard (1...UnixAddress.pathLimit).contains(path.utf8.count), isPlain else {
            throw MQTTPushError(
                .invalidBroker,
                "the path of a Unix socket must have 1 to \(UnixAddress.pathLimit) bytes and no control characters"
            )
        }
        host = "localhost"
        port = MQTTBroker.standardPort
        usesTLS = false
        transport = .unixSocket(path: path)
    }

    /// Creates a broker address from a URL.
    ///
    /// The forms are `mqtt://host`, `mqtts://host`, `ws://host/path` and `wss://host/path`, each with an optional
    /// `:port`, and `unix:/path`.
    ///
    /// - Throws: ``MQTTPushError`` `invalidBroker` if the URL has a different form, or a user name or a password. The error
    ///   never quotes the URL, which may contain a password.
    public init(url text: String) throws(MQTTPushError) {
        if text.utf8.starts(with: "unix:".utf8) {
            // A URL with an empty host, as in RFC 8089 for files.
            let path = text.dropFirst(text.hasPrefix("unix:///") ? 7 : 5)
            guard path.hasPrefix("/"), !path.hasPrefix("//") else { throw MQTTBroker.relativePath }
            try self.init(unixSocket: String(path))
            return
        }
        let afterScheme = text.drop { $0 != "/" }
        let authority = (afterScheme.hasPrefix("//") ? afterScheme.dropFirst(2) : text[...]).prefix {
            !"/?#".contains($0)
        }
        guard !authority.contains("@") else { throw MQTTBroker.hasUserInfo }
        // Unlike in other URLs, a colon must be followed by a port here.
        guard let url = try? URLText(text), let scheme = Scheme(rawValue: url.scheme), url.fragment == nil,
            !authority.hasSuffix(":"), var host = url.host
        else { throw MQTTBroker.malformed }
        if host.first == "[" { host = String(host.dropFirst().dropLast()) }
        var webSocketPath: String?
        if scheme.isWebSocket {
            webSocketPath = (url.path.isEmpty ? "/" : url.path) + (url.query.map { "?\($0)" } ?? "")
        } else if !["", "/"].contains(url.path) || url.query != nil {
            throw MQTTBroker.malformed
        }
        try self.init(
            host: host,
            port: url.port.map(Int.init),
            usesTLS: scheme.usesTLS,
            webSocketPath: webSocketPath
        )
    }

    /// The address as used in logs and facts: `host:port`, with the scheme and the path in front of and behind it for a
    /// WebSocket, or `unix:/path`. An IPv6 address is in brackets, and a query, which may be a credential, is left out.
    public var description: String {
        switch transport {
        case .tcp: return authority
        case .unixSocket(let path): return "unix:\(path)"
        case .webSocket(let path):
            return "\(usesTLS ? "wss" : "ws")://\(authority)\(path.prefix { $0 != "?" })"
        }
    }
}

extension MQTTBroker {
    /// Whether the broker is on this machine.
    package var isLocal: Bool {
        if case .unixSocket = transport { true } else { NumericAddress.isLoopback(host: host) }
    }

    /// Whether a WebSocket carries the MQTT packets.
    var isWebSocket: Bool {
        if case .webSocket = transport { true } else { false }
    }

    /// The scheme of the broker's URL.
    package var scheme: String {
        switch transport {
        case .tcp: usesTLS ? "mqtts" : "mqtt"
        case .webSocket: usesTLS ? "wss" : "ws"
        case .unixSocket: "unix"
        }
    }

    /// The broker's URL, without the query of a WebSocket.
    package var url: String { transport == .tcp ? "\(scheme)://\(authority)" : description }

    /// The host and the port. An IPv6 address is in brackets.
    var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// The host, and the port unless it is the default one of the scheme (RFC 9110, 7.2).
    var webSocketAuthority: String {
        let isStandard = port == MQTTBroker.standardPort(of: transport, usesTLS: usesTLS)
        return isStandard ? (host.contains(":") ? "[\(host)]" : host) : authority
    }

    /// Whether a server reference, which is `host` or `host:port`, names this broker (MQTT 5.0, 4.11).
    func isNamed(by reference: some StringProtocol) -> Bool {
        if case .unixSocket = transport { return false }
        let name = reference.lowercased()
        if name == authority.lowercased() { return true }
        let isStandard = port == MQTTBroker.standardPort(of: transport, usesTLS: usesTLS)
        return isStandard && (name == host.lowercased() || name == "[\(host.lowercased())]")
    }

    private static let pathLimit = 2_048

    private static func standardPort(of transport: Transport, usesTLS: Bool) -> Int {
        if case .webSocket = transport { return usesTLS ? 443 : 80 }
        return usesTLS ? standardTLSPort : standardPort
    }

    private enum Scheme: String {
        case mqtt, mqtts, ws, wss

        var usesTLS: Bool { self == .mqtts || self == .wss }
        var isWebSocket: Bool { self == .ws || self == .wss }
    }

    private static let malformed = MQTTPushError(
        .invalidBroker,
        "a broker's URL must be mqtt://host or mqtts://host with an optional port and without path or query, "
            + "ws://host/path or wss://host/path, or unix:/path"
    )
    private static let relativePath = MQTTPushError(
        .invalidBroker,
        "the path of a Unix socket must be absolute: write unix:/path"
    )
    private static let hasUserInfo = MQTTPushError(
        .invalidBroker,
        "a broker's URL must not contain a user name or password, because logs and process lists show URLs; "
            + "pass them through an environment variable or a file"
    )
}

/// A version of the MQTT protocol.
public enum MQTTVersion: String, Sendable, Hashable, CaseIterable {
    /// MQTT 3.1.1 (OASIS, 2014). It has no properties and no session expiry, and the broker does not say why it refused
    /// a message or a subscription.
    case v311 = "3.1.1"
    /// MQTT 5 (OASIS, 2019).
    case v5 = "5"
}

/// The order in which a client tries several brokers.
public enum MQTTBrokerOrder: String, Sendable, Hashable, CaseIterable {
    /// In the order of the configuration. After a connection has ended, the client begins with the first broker again, and
    /// tries the broker that it lost last.
    case listed
    /// In a random order, which differs for each round, so that many clients spread over the brokers.
    case shuffled
}
