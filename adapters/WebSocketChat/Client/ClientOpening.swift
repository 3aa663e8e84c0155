#if WebSocket
import AdapterSupport
import SecureTransport
import SignalboxCore

extension ClientLoop {
    /// How long to wait before another attempt while a server's queue of connections is full.
    private static let retryDelay = Duration.milliseconds(20)

    func connect(_ id: ConnectionID, _ target: ClientTarget) {
        let connection = ClientConnection(
            id,
            target,
            waitingBytes: target.waitingBytes ?? limits.waitingBytes,
            deadline: stepDeadline
        )
        add(connection)
        if let problem = target.problem { return finish(connection, .invalidTarget(problem)) }
        guard target.tunnel != nil || target.unixSocket != nil || NumericAddress(target.address) != nil else {
            return finish(connection, .notResolved("\(target.address) is not a numeric address"))
        }
        begin(connection)
    }

    private var stepDeadline: ContinuousClock.Instant { .now + .seconds(limits.connectWithin) }

    func begin(_ connection: ClientConnection) {
        let target = connection.target
        if let tunnel = target.tunnel {
            return upgrade(connection, over: SocketLink(tunnel.descriptor, first: tunnel.first))
        }
        let attempt =
            target.unixSocket.map { ConnectAttempt.start(unixSocket: $0) }
            ?? ConnectAttempt.start(target.address, target.port)
        switch attempt {
        case .connected(let socket): upgrade(connection, over: SocketLink(socket))
        case .pending(let socket): connection.phase = .connecting(socket)
        case .busy: connection.phase = .retrying(at: .now + ClientLoop.retryDelay)
        case .failed(let text): finish(connection, .unreachable(text, target))
        case .noResources(let text): finish(connection, .unreachable("this machine has no socket for it: \(text)"))
        }
    }

    func connected(_ connection: ClientConnection, _ socket: OwnedDescriptor) {
        if let text = ConnectAttempt.failure(of: socket) {
            return finish(connection, .unreachable(text, connection.target))
        }
        upgrade(connection, over: SocketLink(socket))
    }

    private func upgrade(_ connection: ClientConnection, over socket: SocketLink) {
        let target = connection.target
        connection.deadline = stepDeadline
        do throws(LinkError) {
            connection.link = try target.tls?.makeLink(over: socket, host: target.serverName) ?? socket
        } catch {
            return finish(connection, .opening(error, target, hasRequested: false))
        }
        do throws(UpgradeProblem) {
            connection.phase = .upgrading(UpgradeExchange(try WebSocketUpgrade(try target.request)))
        } catch {
            return finish(connection, .invalidTarget(error.reason))
        }
        advance(connection)
    }

    func advance(_ connection: ClientConnection) {
        guard case .upgrading(var exchange) = connection.phase, let link = connection.link else { return }
        let wasRequested = exchange.hasBegun
        do throws(LinkError) {
            guard try exchange.advance(over: link) else {
                if exchange.hasBegun && !wasRequested { connection.deadline = stepDeadline }
                connection.phase = .upgrading(exchange)
                return
            }
        } catch {
            return finish(connection, .opening(error, connection.target, hasRequested: exchange.hasBegun))
        }
        opened(connection, exchange)
    }

    private func opened(_ connection: ClientConnection, _ exchange: UpgradeExchange) {
        var agreement: DeflateAgreement?
        if let answer = exchange.agreement?.extensions {
            agreement = DeflateAgreement.negotiated(by: answer)
            guard agreement != nil else {
                return finish(connection, .upgradeFailed("the server uses extensions that were not offered"))
            }
        }
        connection.open(agreement)
        connection.held = Array(exchange.first)
        connection.hasHeld = !connection.held.isEmpty
        queue.opened(connection.id, limit: connection.target.waitingBytes)
        let subprotocol = exchange.agreement?.subprotocol
        receiver.opened(connection.id, Handshake(subprotocol: subprotocol, isCompressed: agreement != nil))
    }

    /// Gives up a connection that did not open in time, whose peer did not close it in time, or that can be read but not
    /// written.
    func expired(_ connection: ClientConnection) {
        let text = "no answer came within \(limits.connectWithin) s"
        switch connection.phase {
        case .open: if connection.isWritingOver, !connection.isPaused { finish(connection, .lost) }
        case .closing: finish(connection, connection.closeReason ?? .lost)
        case .upgrading(let exchange) where exchange.hasBegun: finish(connection, .upgradeFailed(text))
        case .retrying, .connecting, .upgrading: finish(connection, .unreachable(text))
        }
    }
}

extension ClientTarget {
    /// The request of the upgrade. The receiver checks the subprotocol.
    fileprivate var request: WebSocketRequest {
        get throws(UpgradeProblem) {
            var fields = headers.map { WebSocketRequest.Header($0.name, .text($0.value)) }
            if let origin { fields.append(WebSocketRequest.Header("Origin", .text(origin))) }
            var request = try WebSocketRequest(
                path: path,
                host: host,
                subprotocols: subprotocols,
                extensions: offersCompression ? DeflateParameters.clientOffers : nil,
                headers: fields
            )
            request.leavesSubprotocolToOwner = true
            return request
        }
    }
}

extension DisconnectReason {
    /// The reason why a target cannot be reached, given the system's.
    fileprivate static func unreachable(_ text: String, _ target: ClientTarget) -> DisconnectReason {
        guard let path = target.unixSocket else { return .unreachable("\(text); does a server listen there?") }
        return .unreachable(
            "no server accepts connections on the Unix socket \(path): \(text). Does a server listen there, and may this "
                + "user connect to it?"
        )
    }

    /// The reason why a link to a target could not become a WebSocket.
    ///
    /// - Parameter hasRequested: Whether the request was sent.
    fileprivate static func opening(_ error: LinkError, _ target: ClientTarget, hasRequested: Bool) -> DisconnectReason
    {
        switch error {
        case .tls(let problem): return .tls(problem)
        case .upgrade(.status(let status)): return .refused(status: status)
        case .upgrade(.closed) where target.tunnel != nil:
            return .unreachable("the connection through the proxy ended before the server answered")
        case .upgrade(.closed): return .upgradeFailed("the server closed the connection before it answered")
        case .upgrade(let problem): return .upgradeFailed(problem.reason)
        case .closed, .reset:
            guard hasRequested else { return .unreachable("the server closed the connection") }
            return .upgradeFailed("the server closed the connection before it answered")
        case .unreachable(let text), .notResolved(let text), .noResources(let text): return .unreachable(text)
        case .proxy(let failure): return .proxyFailed(failure)
        case .timeout: return .unreachable("no answer came in time")
        }
    }
}
#endif
