import AdapterSupport
import SignalboxRoutes

/// The address of an MQTT broker.
public struct MQTTBroker: Sendable, Hashable, CustomStringConvertible {
    /// The default port of `mqtt://host` (IANA: `mqtt`).
    public static let standardPort = 1883
    /// The default port of `mqtts://host` (IANA: `secure-mqtt`).
    public static let standardTLSPort = 8883

    /// A host name or an address. An IPv6 address is written without brackets.
    public let host: String
    /// The TCP port, 1 to 65,535.
    public let port: Int
    /// Whether connections use TLS, as they do with the scheme `mqtts`.
    public let usesTLS: Bool

    /// Creates a broker address from its parts.
    ///
    /// - Parameters:
    ///   - host: A host name or an address. Write an IPv6 address without brackets.
    ///   - port: The TCP port. The default is 1883, or 8883 with TLS.
    ///   - usesTLS: Whether connections use TLS. The default is `false`.
    /// - Throws: ``MQTTPushError`` `invalidBroker` if the host is empty, the host contains a character that is not
    ///   allowed in host names, or the port is out of range.
    public init(host: String, port: Int? = nil, usesTLS: Bool = false) throws(MQTTPushError) {
        let port = port ?? (usesTLS ? MQTTBroker.standardTLSPort : MQTTBroker.standardPort)
        let forbidden = { (byte: UInt8) in byte <= 0x20 || byte >= 0x7F || "/?#@[]\\%".utf8.contains(byte) }
        guard !host.isEmpty, host.utf8.count <= 255, !host.utf8.contains(where: forbidden) else {
            throw MQTTPushError(.invalidBroker, "a broker's host must be an ASCII name or address")
        }
        guard (1...65_535).contains(port) else {
            throw MQTTPushError(.invalidBroker, "a broker's port must be 1 to 65535")
        }
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
    }

    /// Creates a broker address from a URL: `mqtt://host` or `mqtts://host`, with an optional `:port`.
    ///
    /// - Throws: ``MQTTPushError`` `invalidBroker` if the URL has a different scheme, a user name, a password, a path
    ///   or a query. The error never quotes the URL, which may contain a password.
    public init(url text: String) throws(MQTTPushError) {
        guard !text.contains("@") else { throw MQTTBroker.hasUserInfo }
        // Unlike in other URLs, a colon must be followed by a port here.
        guard let url = try? URLText(text), ["mqtt", "mqtts"].contains(url.scheme), ["", "/"].contains(url.path),
            url.query == nil, url.fragment == nil, !text.hasSuffix(":"), !text.hasSuffix(":/"), var host = url.host
        else { throw MQTTBroker.malformed }
        if host.first == "[" { host = String(host.dropFirst().dropLast()) }
        try self.init(host: host, port: url.port.map(Int.init), usesTLS: url.scheme == "mqtts")
    }

    /// The address as `host:port`, as used in logs and facts. An IPv6 address is in brackets.
    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    private static let malformed = MQTTPushError(
        .invalidBroker,
        "a broker's URL must be mqtt://host or mqtts://host, with an optional port and without path or query"
    )
    private static let hasUserInfo = MQTTPushError(
        .invalidBroker,
        "a broker's URL must not contain a user name or password, because logs and process lists show URLs; "
            + "pass them through an environment variable or a file"
    )
}

extension MQTTBroker {
    /// Whether the broker is on this machine.
    package var isLocal: Bool { NumericAddress.isLoopback(host: host) }
}

/// A version of the MQTT protocol.
public enum MQTTVersion: String, Sendable, Hashable, CaseIterable {
    /// MQTT 3.1.1 (OASIS, 2014). It has no properties and no session expiry, and the broker does not say why it refused
    /// a message or a subscription.
    case v311 = "3.1.1"
    /// MQTT 5 (OASIS, 2019).
    case v5 = "5"
}

/// Determines how long to wait between connection attempts.
///
/// Each wait is a random time between zero and a ceiling. The ceiling starts at ``first`` and doubles with each
/// attempt, up to ``cap``. Because the waits are random, clients that lose the same broker do not all reconnect at
/// once. After a connection that was dropped because messages were abandoned, the wait is at least half of the ceiling.
///
/// Some failures, such as a wrong password or a client id that is used elsewhere, can only be fixed by changing the
/// configuration. After such a failure, the wait is a random time in the range ``slow`` instead.
public struct MQTTReconnect: Sendable, Hashable {
    /// The initial ceiling. Must be between 1 ms and ``cap``; the default is 0.5 s.
    public var first: Duration
    /// The maximum that the ceiling can reach. Must be at most 1 hour; the default is 30 s.
    public var cap: Duration
    /// The range of waits after a failure that can only be fixed by changing the configuration. Its bounds must be
    /// between 1 ms and 1 hour; the default is 30 to 60 s.
    public var slow: ClosedRange<Duration>

    /// Creates a back-off.
    public init(
        first: Duration = .milliseconds(500),
        cap: Duration = .seconds(30),
        slow: ClosedRange<Duration> = .seconds(30) ... .seconds(60)
    ) {
        self.first = first
        self.cap = cap
        self.slow = slow
    }

    var backoff: ReconnectBackoff { ReconnectBackoff(first: first, cap: cap, slow: slow) }

    func validate() throws(MQTTPushError) {
        let allowed: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3_600)
        guard allowed.contains(first), allowed.contains(cap), first <= cap else {
            throw .invalid("reconnect: the first wait must be 1 ms up to the cap, and the cap at most 1 h")
        }
        guard allowed.contains(slow.lowerBound), allowed.contains(slow.upperBound) else {
            throw .invalid("reconnect: the slow waits must be 1 ms to 1 h")
        }
    }
}
