/// How a connection or connection attempt ended.
enum ConnectionEnd: Equatable {
    /// The source was stopped.
    case stopped
    /// A secret or a file could not be read.
    case unprepared(MQTTPushError)
    /// The connection attempt failed, for this reason.
    case notConnected(String)
    /// TLS failed.
    case notSecured(TLSFault)
    /// The broker refused the connection.
    case refused(ReasonCode)
    /// The broker did not answer, or did not accept data, in time.
    case silent
    /// The broker granted none of the listed filters. Only used where that ends the run.
    case nothingGranted(String)
    /// The connection broke, for this reason.
    case lost(String)
    /// The broker ended the connection and stated a reason.
    case closed(ReasonCode)
    /// The broker violated the MQTT protocol.
    case brokeProtocol
    /// This many messages were abandoned. The broker redelivers the QoS 1 messages of their batch, but no others.
    case abandoned(Int)

    /// Whether retrying soon is pointless.
    var isConfigurationFault: Bool {
        switch self {
        case .unprepared, .nothingGranted: true
        case .notSecured(let fault): fault.needsConfiguration
        case .refused(let code), .closed(let code): code.needsConfiguration
        default: false
        }
    }

    /// Whether messages were abandoned: returned by a plugin or held for too long.
    var isAbandonment: Bool {
        if case .abandoned = self { true } else { false }
    }

    /// The error that a run throws if its first connection ends like this.
    var error: MQTTPushError.Code {
        switch self {
        case .unprepared(let error): error.code
        case .notSecured(let fault): fault.code
        case .nothingGranted: .subscriptionRefused
        case .refused(let code) where code == .badCredentials: .badCredentials
        case .refused(let code) where code == .notAuthorized: .notAuthorized
        default: .notConnected
        }
    }

    /// The kind of end, for limiting the log to one line per kind and minute.
    var kind: String {
        switch self {
        case .stopped: "stopped"
        case .unprepared(let error): "unprepared \(error.code)"
        case .notSecured(let fault): "notSecured \(fault.code)"
        case .notConnected: "notConnected"
        case .refused(let code): "refused \(code.rawValue)"
        case .silent: "silent"
        case .nothingGranted: "nothingGranted"
        case .lost: "lost"
        case .closed(let code): "closed \(code.rawValue)"
        case .brokeProtocol: "protocol"
        case .abandoned: "abandoned"
        }
    }

    /// Returns a sentence that states what happened and, where possible, how to fix it.
    func sentence(about broker: MQTTBroker) -> String {
        switch self {
        case .stopped: "disconnected from broker \(broker)"
        case .unprepared(let error): "not connected to broker \(broker): \(error.detail)"
        case .notConnected(let reason): "broker \(broker) cannot be reached: \(reason)"
        case .notSecured(let fault): "broker \(broker) \(fault.detail)"
        case .refused(let code): "broker \(broker) refused the connection: \(code.text)" + advice(code)
        case .silent: "broker \(broker) does not answer"
        case .nothingGranted(let filters):
            "broker \(broker) refused every subscription, so no message would ever come: \(filters). Change the topics, "
                + "or the broker's access rules"
        case .lost(let reason): "the connection to broker \(broker) was lost: \(reason)"
        case .closed(let code): "broker \(broker) ended the connection: \(code.text)" + advice(code)
        case .brokeProtocol: "broker \(broker) sent what MQTT forbids; the connection was dropped"
        case .abandoned(let count):
            "\(count) messages were abandoned; the connection to broker \(broker) was dropped without acknowledging "
                + "their batch: what came at QoS 1 comes again, what came at QoS 0 is lost"
        }
    }

    private func advice(_ code: ReasonCode) -> String {
        code.advice.map { ". \($0)" } ?? ""
    }
}
