#if WebSocket
import AdapterSupport
import Logging
import SignalboxCore

/// A chat server's log. It never contains a message, a query or a token.
///
/// Each kind of line that clients can cause is limited to one line per minute. The log is safe to use from any thread.
final class ServerLog: Sendable {
    private let log: AdapterLog

    init(_ logger: Logger, source: SourceName) {
        log = AdapterLog(logger, source: source)
    }

    /// Logs that the server is listening, once per run. Programs wait for this line.
    func listening(_ configuration: WebSocketServerConfiguration, port: UInt16) {
        log.write(.info, "listening on \(configuration.url(port: port))")
        for warning in ServerLog.warnings(configuration) { log.write(.warning, warning) }
    }

    /// Returns warnings about settings that are valid but rarely intended.
    static func warnings(_ configuration: WebSocketServerConfiguration) -> [String] {
        var warnings: [String] = []
        let isReachable = NumericAddress(configuration.address)?.isLoopback != true
        if isReachable && configuration.identity == nil {
            warnings.append(
                "\(configuration.address) can be reached from other machines without TLS: anyone on the network path can read "
                    + "and change messages and tokens. Set an identity, or listen on 127.0.0.1 behind a proxy with TLS"
            )
        }
        if isReachable && configuration.principals.isEmpty {
            warnings.append(
                "\(configuration.address) can be reached from other machines without a token: anyone who reaches it can "
                    + "connect, because any program can send an allowed origin. Set principals"
            )
        }
        if configuration.absentOrigin == .allowed && configuration.principals.isEmpty && !isReachable {
            warnings.append(
                "every program on this machine can connect, of any user: \(configuration.localAccessAdvice)"
            )
        }
        if configuration.queryTokens {
            warnings.append(
                "tokens are accepted in the query, which browsers, proxies and logs keep: let clients send the header "
                    + "Authorization or the subprotocol \(BearerToken.prefix)TOKEN, and turn off queryTokens"
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

    /// Logs the end of a connection if the client or the network caused it.
    func ended(_ connection: ServerConnection, _ reason: DisconnectReason) {
        let (kind, text): (String, String)
        switch reason {
        case .protocolViolation(let code):
            (kind, text) = ("broke", "violated the WebSocket protocol and was closed with \(code.number)")
        case .closedLocally(.tryAgainLater, _):
            (kind, text) = ("slow", "read too slowly and was closed with 1013: the limit of waiting bytes was reached")
        case .closedLocally(let code, let reason)
        where [.messageTooBig, .unacceptableData, .policyViolation].contains(code):
            (kind, text) = ("closed \(code.number)", "was closed with \(code.number): \(reason)")
        default: return
        }
        log.writeLimited(.warning, kind, "\(client(connection)) \(text)")
    }

    func stopped(notTaken: Int) {
        let left = notTaken == 0 ? "" : "; \(notTaken) received messages were not handled"
        log.write(.info, "stopped listening\(left)")
    }

    private func client(_ connection: ServerConnection) -> String {
        let peer = connection.facts.peer
        guard let principal = connection.facts.principal else { return "client \(peer)" }
        return "client \(peer), principal \(UntrustedText.quoted(principal)),"
    }
}
#endif
