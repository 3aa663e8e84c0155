#if WebSocket
import AdapterSupport
import Logging
import SignalboxCore
import WebSocketChat

/// The log of a source of HTTP requests. It never contains a body, a query, a token or a key.
///
/// Each kind of line that clients can cause is limited to one line per minute. The log is safe to use from any thread.
final class HTTPActionLog: Sendable {
    private let log: AdapterLog

    init(_ logger: Logger, source: SourceName) {
        log = AdapterLog(logger, source: source)
    }

    /// Logs that requests are accepted, once per run. Programs wait for this line.
    func listening(_ server: HTTPActionServer, port: UInt16) {
        log.write(.info, "listening on \(server.listener.configuration.url(port: port))")
        for warning in HTTPActionLog.warnings(server.configuration, server.listener.configuration) {
            log.write(.warning, warning)
        }
    }

    /// Returns warnings about settings that are valid but rarely intended.
    static func warnings(_ configuration: HTTPActionConfiguration, _ listener: WebListenerConfiguration) -> [String] {
        var warnings: [String] = []
        guard !WebSocketServerConfiguration.isLocal(listener.address) else { return [] }
        if listener.identity == nil {
            warnings.append(
                "\(listener.address) can be reached from other machines without TLS: anyone on the network path can read and "
                    + "change messages and tokens. Set an identity, or listen on 127.0.0.1 behind a proxy with TLS"
            )
        }
        if configuration.allowsAnyone && configuration.addresses.isEmpty {
            warnings.append(
                "\(listener.address) can be reached from other machines without a token: anyone who reaches it can send. Set "
                    + "principals or signatures, or the addresses that may send"
            )
        }
        return warnings
    }

    func refused(_ status: Int, peer: String, reason: String) {
        log.writeLimited(
            .warning,
            "refused \(status)",
            "refused \(peer.isEmpty ? "a disconnected client" : peer) with \(status): \(reason)"
        )
    }

    func descriptorsExhausted() {
        log.writeLimited(
            .error,
            "descriptors",
            "closed a connection before its request because few file descriptors are left; allow the process at least "
                + "connections + httpConnections + 96 (ulimit -n, LimitNOFILE=)"
        )
    }

    func limitReached() {
        log.writeLimited(
            .warning,
            "http",
            "closed a connection: the limit of HTTP connections is reached (total or per address); raise httpConnections "
                + "or httpConnectionsPerAddress if this is expected traffic"
        )
    }

    func stopped() {
        log.write(.info, "stopped listening")
    }
}
#endif
