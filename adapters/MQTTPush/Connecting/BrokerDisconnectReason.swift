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
    /// The broker refused the connection.
    case refused(ReasonCode)
    /// The broker did not answer in time or did not accept data in time.
    case timedOut
    /// The broker granted none of the listed filters, but the configuration requires at least one.
    case allSubscriptionsRefused(String)
    /// The connection broke for the given reason.
    case lost(String)
    /// The broker ended the connection and gave a reason.
    case closed(ReasonCode)
    /// The broker violated the MQTT protocol.
    case protocolError
    /// The given number of messages were abandoned. The broker redelivers the QoS 1 messages in their batch, but not
    /// the QoS 0 messages.
    case abandoned(Int)

    /// Whether it is pointless to retry soon, because the problem can only be fixed in the configuration or at the
    /// broker.
    var isConfigurationError: Bool {
        switch self {
        case .setupFailed, .allSubscriptionsRefused: true
        case .tlsFailed(let failure): failure.needsReconfiguration
        case .refused(let code), .closed(let code): code.needsReconfiguration
        default: false
        }
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
        case .refused(let code): "refused \(code.rawValue)"
        case .timedOut: "timedOut"
        case .allSubscriptionsRefused: "allSubscriptionsRefused"
        case .lost: "lost"
        case .closed(let code): "closed \(code.rawValue)"
        case .protocolError: "protocolError"
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
        case .refused(let code): "broker \(broker) refused the connection: \(code.text)" + advice
        case .timedOut: "broker \(broker) did not answer in time"
        case .allSubscriptionsRefused(let filters):
            "broker \(broker) refused every subscription, so no message would arrive: \(filters)" + advice
        case .lost(let reason): "connection to broker \(broker) lost (\(reason))"
        case .closed(let code): "broker \(broker) closed the connection: \(code.text)" + advice
        case .protocolError: "broker \(broker) violated the MQTT protocol; the connection was dropped"
        case .abandoned(let count):
            "\(count) \(count == 1 ? "message was" : "messages were") abandoned; the connection to broker \(broker) was dropped without acknowledging "
                + "their batch: QoS 1 messages are redelivered, QoS 0 messages are lost"
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
