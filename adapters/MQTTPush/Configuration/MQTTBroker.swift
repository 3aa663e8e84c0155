import AdapterSupport
import SignalboxRoutes

/// The address of an MQTT broker.
public struct MQTTBroker: Sendable, Hashable, CustomStringConvertible {
    /// The default port of `mqtt://host` (IANA: `mqtt`).
    public static let standardPort = 1883
    /// The default port of `mqtts://host` (IANA: `secure-mqtt`).
    public static let standardTLSPort = 8883

    /// A host name or an address. An IPv6 address has no brackets here.
    public let host: String
    /// The TCP port, 1 to 65,535.
    public let port: Int
    /// Whether connections use TLS, as they do with the scheme `mqtts`.
    public let usesTLS: Bool

    /// Creates an address from its parts.
    ///
    /// - Parameters:
    ///   - host: A host name or an address. An IPv6 address has no brackets here.
    ///   - port: The TCP port. By default, it is 1883, or 8883 with TLS.
    ///   - usesTLS: Whether connections use TLS. The default is `false`.
    /// - Throws: ``MQTTPushError`` `invalidBroker` if the host is empty or has a character that host names cannot have,
    ///   or if the port is out of its range.
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

    /// Creates an address from a URL: `mqtt://host` or `mqtts://host`, either with an optional `:port`.
    ///
    /// - Throws: ``MQTTPushError`` `invalidBroker` if the URL has another scheme, a user name, a password, a path or a
    ///   query. The error never quotes the URL, because the URL may hold a password.
    public init(url text: String) throws(MQTTPushError) {
        guard !text.contains("@") else { throw MQTTBroker.hasUserInfo }
        // A colon must be followed by a port here, although other URLs may leave the port out.
        guard let url = try? URLText(text), ["mqtt", "mqtts"].contains(url.scheme), ["", "/"].contains(url.path),
            url.query == nil, url.fragment == nil, !text.hasSuffix(":"), !text.hasSuffix(":/"), var host = url.host
        else { throw MQTTBroker.malformed }
        if host.first == "[" { host = String(host.dropFirst().dropLast()) }
        try self.init(host: host, port: url.port.map(Int.init), usesTLS: url.scheme == "mqtts")
    }

    /// The address as `host:port`, in the form that logs and facts use. An IPv6 address is in brackets.
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
    /// MQTT 3.1.1 (OASIS, 2014). It has no properties and no session expiry, and the broker does not state why it
    /// refused a message or a subscription.
    case v311 = "3.1.1"
    /// MQTT 5 (OASIS, 2019).
    case v5 = "5"
}

/// The back-off between connection attempts.
///
/// Each wait is a random time between zero and a ceiling. The ceiling starts at ``first`` and doubles with each
/// attempt, up to ``cap``. Because the waits are random, many clients that lost the same broker do not all reconnect at
/// once.
///
/// If only a change of the configuration can fix the failure, for example a wrong password or a client id that is in
/// use elsewhere, the wait is a random time from the range ``slow``.
public struct MQTTReconnect: Sendable, Hashable {
    /// The first ceiling. The valid range is 1 ms to ``cap``. The default is 0.5 s.
    public var first: Duration
    /// The largest ceiling, which is at most 1 hour. The default is 30 s.
    public var cap: Duration
    /// The range of waits after a configuration error. Its bounds can be from 1 ms to 1 hour. The default is 30 to 60
    /// s.
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
