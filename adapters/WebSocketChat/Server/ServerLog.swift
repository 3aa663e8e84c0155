import AdapterSupport
import Logging
import SignalboxCore

/// The log of a chat server. Never contains a message, a query or a token. Any thread.
///
/// Lines that clients can cause are limited to one per minute and kind.
final class ServerLog: Sendable {
    private let log: AdapterLog

    init(_ logger: Logger, source: SourceName) {
        log = AdapterLog(logger, source: source)
    }

    /// Logged once per run. Programs wait for this line.
    func listening(_ configuration: WebSocketServerConfiguration, port: UInt16) {
        let address = NumericAddress(configuration.address)
        let scheme = configuration.identity == nil ? "ws" : "wss"
        let url = "\(scheme)://\(address?.inURL ?? configuration.address):\(port)\(configuration.path)"
        log.write(.info, "listening on \(url)")
        for warning in ServerLog.warnings(configuration) { log.write(.warning, warning) }
    }

    /// Returns warnings about settings that are valid but rarely intended.
    static func warnings(_ configuration: WebSocketServerConfiguration) -> [String] {
        var warnings: [String] = []
        let isReachable = NumericAddress(configuration.address)?.isLoopback != true
        if isReachable && configuration.identity == nil {
            warnings.append(
                "\(configuration.address) can be reached from elsewhere and there is no TLS: whoever is on the way reads "
                    + "and changes messages and tokens. Set an identity, or listen on 127.0.0.1 behind a proxy that has one"
            )
        }
        if isReachable && configuration.principals.isEmpty {
            warnings.append(
                "\(configuration.address) can be reached from elsewhere and no token is asked for: whoever reaches it may "
                    + "connect, as any program can name an allowed origin. Set principals"
            )
        }
        if configuration.absentOrigin == .allowed && configuration.principals.isEmpty && !isReachable {
            warnings.append(
                "every program of this machine may connect, whoever runs it: set principals, or do not allow clients without "
                    + "an origin"
            )
        }
        if configuration.queryTokens {
            warnings.append(
                "tokens are taken from the query, which browsers, proxies and logs keep: let clients send the header "
                    + "Authorization or the subprotocol \(BearerToken.prefix)TOKEN, and turn it off"
            )
        }
        return warnings
    }

    func refused(_ status: Int, peer: String, reason: String) {
        log.writeLimited(
            .warning,
            "refused \(status)",
            "refused \(peer.isEmpty ? "a client that has gone" : peer) with \(status): \(reason)"
        )
    }

    func descriptorsExhausted() {
        log.writeLimited(
            .error,
            "descriptors",
            "cut a connection before its request, as the process has hardly a descriptor left; allow it at least "
                + "connections + httpConnections + 96 (ulimit -n, LimitNOFILE=)"
        )
    }

    func limitReached() {
        log.writeLimited(
            .warning,
            "http",
            "closed a connection: the limit of HTTP connections is reached (in all or for one address); raise httpConnections "
                + "or httpConnectionsPerAddress if this is expected traffic"
        )
    }

    /// Logs the end of a connection if the client or its network caused it.
    func ended(_ connection: ServerConnection, _ reason: ConnectionCloseReason) {
        switch reason {
        case .protocolViolation(let code):
            log.writeLimited(
                .warning,
                "broke",
                "\(client(connection)) broke the WebSocket protocol and was told \(code.number)"
            )
        case .closedLocally(.tryAgainLater, _):
            log.writeLimited(
                .warning,
                "slow",
                "\(client(connection)) read too slowly and was closed with 1013: more than the bytes that may wait did"
            )
        case .closedLocally(let code, let reason)
        where [.messageTooBig, .unacceptableData, .policyViolation].contains(code):
            log.writeLimited(
                .warning,
                "closed \(code.number)",
                "\(client(connection)) was closed with \(code.number): \(reason)"
            )
        default: break
        }
    }

    func stopped(notTaken: Int) {
        let left = notTaken == 0 ? "" : "; \(notTaken) messages were read and not taken any more"
        log.write(.info, "stopped listening\(left)")
    }

    private func client(_ connection: ServerConnection) -> String {
        let peer = connection.facts.peer
        guard let principal = connection.facts.principal else { return "client \(peer)" }
        return "client \(peer), principal \(UntrustedText.quoted(principal)),"
    }
}
