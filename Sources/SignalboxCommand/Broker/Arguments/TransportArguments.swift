import ArgumentParser
import MQTTPush
import SignalboxCore

/// The options for how a client reaches its brokers.
struct TransportArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The order in which several brokers are tried: listed (default), or shuffled, so that many clients spread.",
            valueName: "order"
        ),
        completion: .list(MQTTBrokerOrder.allCases.map(\.rawValue)),
        transform: TransportArguments.order
    )
    var brokerOrder: MQTTBrokerOrder?

    @Option(
        help: ArgumentHelp(
            "Give up an attempt to connect to one broker after this time: 100ms to 1h; default 10s.",
            valueName: "time"
        ),
        transform: TimeoutOption.duration
    )
    var connectTimeout: Duration?

    @Option(
        help: ArgumentHelp(
            "An application protocol to offer with TLS (ALPN); may be repeated; default mqtt, or http/1.1 for wss://.",
            valueName: "name"
        )
    )
    var alpn: [String] = []

    func validate() throws {
        if let connectTimeout, !(.milliseconds(100)...(.seconds(3_600))).contains(connectTimeout) {
            throw ValidationError("--connect-timeout must be 100ms to 1h")
        }
        guard alpn.count <= 16, alpn.allSatisfy({ 1...255 ~= $0.utf8.count }) else {
            throw ValidationError("--alpn: expected at most 16 names of 1 to 255 bytes")
        }
    }

    /// Applies the options to a client of these brokers.
    func apply(to client: inout some BrokerClientSettings, of brokers: [MQTTBroker]) throws(ValidationError) {
        guard brokerOrder == nil || brokers.count > 1 else {
            throw ValidationError("--broker-order is for several brokers; add their URLs, or remove it")
        }
        guard alpn.isEmpty || brokers.allSatisfy(\.usesTLS) else {
            throw ValidationError("--alpn requires TLS; write mqtts:// or wss://")
        }
        if let brokerOrder { client.brokerOrder = brokerOrder }
        if let connectTimeout { client.connectTimeout = connectTimeout }
        if !alpn.isEmpty { client.alpn = alpn }
    }

    private static func order(_ text: String) throws -> MQTTBrokerOrder {
        guard let order = MQTTBrokerOrder(rawValue: text) else { throw ValidationError("expected listed or shuffled") }
        return order
    }
}

/// The settings that receiving and publishing clients have in common.
protocol BrokerClientSettings {
    var broker: MQTTBroker { get }
    var furtherBrokers: [MQTTBroker] { get set }
    var brokerOrder: MQTTBrokerOrder { get set }
    var proxy: MQTTProxy? { get set }
    var headers: [MQTTHeader] { get set }
    var alpn: [String]? { get set }
    var connectTimeout: Duration { get set }
    var clientID: MQTTClientID { get set }
    var keepalive: Duration { get set }
    var will: MQTTWill? { get set }
    var version: MQTTVersion { get set }
    var security: MQTTSecurity { get set }
    var username: Secret? { get set }
    var password: Secret? { get set }
    var firstConnectionMustSucceed: Bool { get set }
    var remedies: [BrokerRemedy: String] { get set }
}

extension MQTTPushConfiguration: BrokerClientSettings {}
extension MQTTPublisherConfiguration: BrokerClientSettings {}

extension BrokerClientSettings {
    /// All brokers, in the order of the configuration.
    var brokers: [MQTTBroker] { [broker] + furtherBrokers }
}

extension MQTTBroker {
    var isWebSocket: Bool { if case .webSocket = transport { true } else { false } }
    var isUnixSocket: Bool { if case .unixSocket = transport { true } else { false } }
    /// The scheme of a URL with TLS and the same transport, or `nil` for a Unix socket, which has no TLS.
    var secureScheme: String? { isUnixSocket ? nil : isWebSocket ? "wss" : "mqtts" }
}
