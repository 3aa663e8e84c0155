#if MQTT
import AdapterSupport
public import Logging
public import SignalboxRoutes

/// A session that a broker keeps for a push source that is not running.
///
/// Each method connects with the session's client id. The broker disconnects a running client with the same id, so stop
/// the source first.
public struct MQTTSession: Sendable {
    private let configuration: MQTTPushConfiguration
    private let logger: Logger

    /// - Parameters:
    ///   - configuration: The configuration of the source. Its topics, its will and its clean start do not matter.
    ///   - connection: The name of one of ``MQTTPushConfiguration/connections``, which have separate sessions. The
    ///     default is the source's own connection.
    ///   - logger: The logger for lost connections.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` if the client id is random, a setting is invalid, or there is
    ///   no connection with the name.
    public init(
        _ configuration: MQTTPushConfiguration,
        connection: String? = nil,
        logger: Logger
    ) throws(MQTTPushError) {
        guard var part = configuration.perConnection.first(where: { $0.connectionName == connection }) else {
            throw .noConnection(source: configuration.source)
        }
        part.will = nil
        // A clean start would discard the session, with its messages.
        part.cleanStart = false
        do throws(MQTTPushError) {
            guard !part.clientID.isRandom else { throw .invalid("a session needs a fixed client id") }
            try part.validateBrokerSettings()
            try part.validateSession()
        } catch {
            throw error.about(configuration.source)
        }
        self.configuration = part
        self.logger = logger
    }

    /// Ends subscriptions of the session. Its other subscriptions stay, and so do all waiting QoS 1 messages, including
    /// those of the ended subscriptions. Waiting QoS 0 messages, which only some brokers keep, are lost.
    ///
    /// From now on, the broker keeps the session for ``MQTTPushConfiguration/sessionExpiry``, which must not be zero.
    /// This method does not report whether the session had a subscription for each filter.
    ///
    /// - Parameter filters: The filters as they were sent to the broker, from 1 to 1,000. The filter of a shared
    ///   subscription begins with `$share/GROUP/`.
    /// - Returns: `false` if the broker has no session for this client id.
    /// - Throws: ``MQTTPushError`` `subscriptionRefused` if the broker refuses to end any of the subscriptions, which an
    ///   MQTT 3.1.1 broker cannot say. Other errors are thrown if the task is cancelled first, or if
    ///   ``MQTTPushConfiguration/firstConnectionMustSucceed`` is set and the first connection fails. Otherwise, this
    ///   method connects again until the broker has answered.
    @discardableResult
    public func unsubscribe(_ filters: [TopicFilter]) async throws(MQTTPushError) -> Bool {
        do throws(MQTTPushError) {
            try MQTTPushError.check([
                (1...1_000 ~= filters.count, "unsubscribe 1 to 1000 filters"),
                (configuration.sessionExpiry > .zero, "without a session expiry the whole session would end"),
            ])
        } catch {
            throw error.about(configuration.source)
        }
        let result = try await run(configuration, filters.map(\.text), endsSession: false)
        // The connection has created a session, which nothing would ever read.
        if !result.hadSession, !result.isEnded { _ = try await discard() }
        if let code = result.refusal {
            let detail = "the broker refused to end a subscription: \(code.text). The session keeps it"
            throw MQTTPushError(.subscriptionRefused, detail, source: configuration.source)
        }
        return result.hadSession
    }

    /// Ends the session. The broker discards its subscriptions and its waiting messages.
    ///
    /// With MQTT 5, the session ends with the DISCONNECT of a single connection (MQTT 5.0, 3.14.2.2.2), unless the broker
    /// does not close that connection in time. A second connection then discards the session, as with MQTT 3.1.1.
    ///
    /// - Returns: `false` if the broker had no session for this client id.
    /// - Throws: The same errors as ``unsubscribe(_:)``, except `subscriptionRefused`.
    @discardableResult
    public func end() async throws(MQTTPushError) -> Bool {
        let result = try await run(configuration, [], endsSession: true)
        if !result.isEnded { _ = try await discard() }
        return result.hadSession
    }

    /// Connects with clean start and without a session expiry, which ends any session (MQTT 5.0, 3.1.2.4; MQTT 3.1.1,
    /// 3.1.2.4).
    private func discard() async throws(MQTTPushError) {
        var clean = configuration
        (clean.cleanStart, clean.sessionExpiry) = (true, .zero)
        _ = try await run(clean, [], endsSession: false)
    }

    /// Connects until one connection has done everything.
    private func run(
        _ configuration: MQTTPushConfiguration,
        _ filters: [String],
        endsSession: Bool
    ) async throws(MQTTPushError) -> UnsubscribingRole.Result {
        let answer = Promise<UnsubscribingRole.Result>()
        let bridge: ThreadBridge<MQTTPushError>
        do throws(SystemResourceError) {
            bridge = try ThreadBridge()
            try bridge.start { [bridge, logger] () throws(MQTTPushError) in
                // A broker discards a message that is larger than the client's limit (MQTT 5.0, 3.1.2.11.4), so there is
                // none. It sends only one message without an acknowledgement.
                let limits = ClientLimits(
                    sessionExpiry: UInt32(clamping: configuration.sessionExpiry.components.seconds),
                    packetBytes: UInt32(clamping: configuration.packetLimit),
                    announcesPacketBytes: false,
                    receiveMaximum: 1
                )
                let log = BrokerLog(logger, configuration: configuration)
                let loop = BrokerLoop(
                    settings: configuration,
                    limits: limits,
                    bridge: bridge,
                    stop: StopLimit(bridge),
                    log: log
                )
                _ = try loop.run { _ in
                    let role = UnsubscribingRole(configuration, filters: filters, endsSession: endsSession) {
                        _ = answer.set($0)
                    }
                    return (role, cleanStart: configuration.cleanStart)
                }
            }
        } catch {
            throw MQTTPushError(.noResources, error.description, source: configuration.source)
        }
        let end = await withTaskCancellationHandler {
            await bridge.ended()
        } onCancel: {
            bridge.stop()
        }
        if case .returned(let error?) = end { throw error }
        guard let result = answer.current else {
            throw MQTTPushError(.notConnected, "stopped before the broker answered", source: configuration.source)
        }
        return result
    }
}
#endif
