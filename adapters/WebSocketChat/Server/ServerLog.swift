import AdapterThreads
import Logging
import SignalboxCore

/// What a chat server says to the log: never a message, a query or a token. Any thread.
///
/// Of what clients can cause there is at most one line a minute of each kind.
final class ServerLog: Sendable {
    private let log: AdapterLog

    init(_ logger: Logger, source: SourceName) {
        log = AdapterLog(logger, source: source)
    }

    /// Told once a run; programs wait for this line.
    func listening(_ configuration: WebSocketServerConfiguration, port: UInt16) {
        let address = NumericAddress(configuration.address)
        let scheme = configuration.identity == nil ? "ws" : "wss"
        let place = "\(scheme)://\(address?.inURL ?? configuration.address):\(port)\(configuration.path)"
        log.tell(.info, "listening on \(place)")
        for warning in ServerLog.warnings(configuration) { log.tell(.warning, warning) }
    }

    /// What is allowed and yet seldom meant.
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

    func refused(_ status: Int, peer: String, why: String) {
        log.say(
            .warning,
            "refused \(status)",
            "refused \(peer.isEmpty ? "a client that has gone" : peer) with \(status): \(why)"
        )
    }

    func cutForDescriptors() {
        log.say(
            .error,
            "descriptors",
            "cut a connection before its request, as the process has hardly a descriptor left; allow it at least "
                + "connections + httpConnections + 96 (ulimit -n, LimitNOFILE=)"
        )
    }

    func turnedAway() {
        log.say(
            .warning,
            "http",
            "closed a connection: the limit of HTTP connections is reached (in all or for one address); raise httpConnections "
                + "or httpConnectionsPerAddress if this is expected traffic"
        )
    }

    /// The connection's end, where a client or its network is at fault.
    func ended(_ connection: ServerConnection, _ end: ConnectionEnd) {
        switch end {
        case .brokeProtocol(let code):
            log.say(.warning, "broke", "\(client(connection)) broke the WebSocket protocol and was told \(code.number)")
        case .closedHere(.tryAgainLater, _):
            log.say(
                .warning,
                "slow",
                "\(client(connection)) read too slowly and was closed with 1013: more than the bytes that may wait did"
            )
        case .closedHere(let code, let reason)
        where [.messageTooBig, .unacceptableData, .policyViolation].contains(code):
            log.say(
                .warning,
                "closed \(code.number)",
                "\(client(connection)) was closed with \(code.number): \(reason)"
            )
        default: break
        }
    }

    func stopped(notTaken: Int) {
        let left = notTaken == 0 ? "" : "; \(notTaken) messages were read and not taken any more"
        log.tell(.info, "stopped listening\(left)")
    }

    private func client(_ connection: ServerConnection) -> String {
        let peer = connection.facts.peer
        guard let principal = connection.facts.principal else { return "client \(peer)" }
        return "client \(peer), principal \(ShownText.quoted(principal)),"
    }
}
