import AdapterSupport
import SecureTransport

/// The reason why a connection, or an attempt to connect, ended.
enum BrokerDisconnectReason: Equatable {
    /// The source was stopped.
    case stopped
    /// A secret or a file could not be read.
    case setupFailed(MQTTPushError)
    /// The attempt to connect failed for the given reason.
    case connectFailed(String)
    /// TLS failed.
    case tlsFailed(TLSFailure)
    /// The broker gave no WebSocket.
    case upgradeFailed(UpgradeProblem)
    /// The proxy gave no connection to the broker.
    case proxyFailed(ProxyFailure)
    /// The broker refused the connection.
    case refused(ReasonCode)
    /// The time for the attempt to connect was over.
    case attemptTimedOut(ConnectStage)
    /// The broker did not answer in time or did not accept data in time.
    case timedOut
    /// The broker granted none of the listed filters, but the configuration requires at least one.
    case allSubscriptionsRefused(String)
    /// The connection broke for the given reason.
    case lost(String)
    /// The broker ended the connection and gave a reason.
    case closed(ReasonCode)
    /// The broker violated the MQTT protocol.
    case violated(PacketViolation)
    /// The given number of QoS 1 messages were abandoned, so the broker redelivers them and the messages behind them.
    case abandoned(Int)

    /// Whether it is pointless to retry soon, because the problem can only be fixed in the configuration or at the
    /// broker.
    var isConfigurationError: Bool {
        switch self {
        case .setupFailed, .allSubscriptionsRefused: true
        case .tlsFailed(let failure): failure.needsReconfiguration
        case .upgradeFailed(let problem): problem.needsReconfiguration
        case .proxyFailed(let failure): failure.isConfigurationError
        case .refused(let code), .closed(let code): code.needsReconfiguration
        default: false
        }
    }

    /// What the broker has done wrong, if that is the reason.
    var violation: PacketViolation? {
        if case .violated(let violation) = self { violation } else { nil }
    }

    /// Whether the run ends instead of reconnecting.
    var isFinal: Bool {
        if case .allSubscriptionsRefused = self { true } else { false }
    }

    /// Whether the connection was dropped because messages were abandoned. This happens if a plugin returned them, or
    /// if their handling had not started by the ack deadline.
    var isAbandonment: Bool {
        if case .abandoned = self { true } else { false }
    }

    /// The code of the error that a run throws when its first connection ends for this reason.
    var error: MQTTPushError.Code {
        switch self {
        case .setupFailed(let error): error.code
        case .tlsFailed(let failure): failure.code
        case .upgradeFailed(.status(401)), .upgradeFailed(.status(403)): .webSocketRefused
        case .proxyFailed(let failure) where failure.isRefusal: .proxyRefused
        case .allSubscriptionsRefused: .subscriptionRefused
        case .refused(let code) where code == .badCredentials: .badCredentials
        case .refused(let code) where code == .notAuthorized: .notAuthorized
        default: .notConnected
        }
    }

    /// The kind of this reason. Each kind is logged at most once per minute.
    var kind: String {
        switch self {
        case .stopped: "stopped"
        case .setupFailed(let error): "setupFailed \(error.code)"
        case .tlsFailed(let failure): "tlsFailed \(failure.code)"
        case .connectFailed: "connectFailed"
        case .upgradeFailed(.status(let status)): "upgradeFailed \(status)"
        case .upgradeFailed: "upgradeFailed"
        case .proxyFailed(let failure): "proxyFailed \(failure.kind)"
        case .refused(let code): "refused \(code.rawValue)"
        case .attemptTimedOut(let stage): "timedOut \(stage)"
        case .timedOut: "timedOut"
        case .allSubscriptionsRefused: "allSubscriptionsRefused"
        case .lost: "lost"
        case .closed(let code): "closed \(code.rawValue)"
        case .violated: "protocolError"
        case .abandoned: "abandoned"
        }
    }

    /// Returns a sentence that states what happened and, where possible, how to fix it.
    func message(for settings: some BrokerSettings) -> String {
        let broker = settings.broker
        let advice = remedy.map { ". \(settings.text(of: $0))" } ?? ""
        return switch self {
        case .stopped: "disconnected from broker \(broker)"
        case .setupFailed(let error): "cannot connect to broker \(broker): \(error.detail)"
        case .connectFailed(let reason): "cannot reach broker \(broker): \(reason)"
        case .tlsFailed(let failure): "broker \(broker) \(failure.detail)" + advice
        case .upgradeFailed(let problem): "broker \(broker) gave no WebSocket: \(problem.reason)"
        case .proxyFailed(let failure): BrokerDisconnectReason.message(for: failure, settings)
        case .refused(let code): "broker \(broker) refused the connection: \(code.text)" + advice
        case .attemptTimedOut(let stage): "broker \(broker) did not answer in time: \(stage.rawValue)"
        case .timedOut: "broker \(broker) did not answer in time"
        case .allSubscriptionsRefused(let filters):
            "broker \(broker) refused every subscription, so no message would arrive: \(filters)" + advice
        case .lost(let reason): "connection to broker \(broker) lost (\(reason))"
        case .closed(let code): "broker \(broker) closed the connection: \(code.text)" + advice
        case .violated(let violation):
            "broker \(broker) violated the MQTT protocol (\(violation.text)); the connection was dropped"
        case .abandoned(let count):
            "\(count) \(count == 1 ? "message was" : "messages were") abandoned; the connection to broker \(broker) was dropped without acknowledging "
                + "\(count == 1 ? "it" : "them") and later messages, which the broker redelivers"
        }
    }

    /// What the operator can do, if the reason suggests how to fix the problem.
    private var remedy: BrokerRemedy? {
        switch self {
        case .tlsFailed(let failure): failure.remedy
        case .refused(let code), .closed(let code): code.remedy
        case .allSubscriptionsRefused: .topics
        default: nil
        }
    }
}

extension BrokerDisconnectReason {
    /// Creates the reason for a link that could not be opened or has failed.
    ///
    /// - Parameters:
    ///   - isOpen: Whether the broker had accepted the connection.
    ///   - request: The broker's request for a client certificate, if there was one.
    init(_ error: LinkError, _ settings: some BrokerSettings, isOpen: Bool, request: CertificateRequest?) {
        switch error {
        case .closed: self = .lost(isOpen ? "closed or reset by peer" : BrokerDisconnectReason.beforeConnack(request))
        case .reset(let reason):
            self = .lost(isOpen ? reason : BrokerDisconnectReason.beforeConnack(request, reason))
        case .tls(let problem):
            if let failure = TLSFailure(problem) {
                self = isOpen ? .lost(failure.detail) : .tlsFailed(failure)
            } else if let error = MQTTPushError(problem, shortKeyRemedy: settings.text(of: .shortKey)) {
                self = .setupFailed(error)
            } else {
                self = .lost("TLS failed")
            }
        case .notResolved(let reason): self = .connectFailed(reason)
        case .unreachable(let reason): self = .connectFailed(reason)
        case .timeout: self = isOpen ? .timedOut : .attemptTimedOut(.connection)
        case .noResources(let reason): self = .setupFailed(MQTTPushError(.noResources, reason))
        case .upgrade(let problem): self = .upgradeFailed(problem)
        case .proxy(let failure): self = .proxyFailed(failure)
        }
    }

    private static func message(for failure: ProxyFailure, _ settings: some BrokerSettings) -> String {
        let broker = settings.broker
        guard let proxy = settings.proxy?.server else { return "cannot reach broker \(broker)" }
        let destination = ProxyDestination(host: broker.host, port: UInt16(clamping: broker.port))
        return failure.sentence(about: proxy, to: destination, login: settings.text(of: .proxyLogin))
    }

    private static func beforeConnack(
        _ request: CertificateRequest?,
        _ reason: String = "closed or reset by peer"
    ) -> String {
        request.map { "\(reason) before CONNACK; \($0.advice)" } ?? reason
    }
}

/// What an attempt to connect was waiting for.
enum ConnectStage: String, Sendable {
    case connection = "there was no connection"
    case handshake = "the handshake of TLS or of the WebSocket was not complete"
    case acceptance = "it did not accept the connection (no CONNACK)"
}
