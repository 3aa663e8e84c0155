import AdapterSupport
import Logging
import SignalboxCore

/// The main loop of a push source's thread: successive connections, with waits in between. Belongs to that thread.
final class ReceiveLoop {
    let configuration: MQTTPushConfiguration
    let bridge: ThreadBridge<MQTTPushError>
    let intake: any Intake
    let receiver: PushReceiver
    let sink: BatchSink
    let log: BrokerLog
    let subscriptions: SubscriptionManager
    /// Counts how often each message ended the process, if this is configured and possible.
    let deliveries: DeliveryTracker?
    private var backoff: ReconnectBackoff
    private var wasConnected = false
    private var wasGranted = false

    init(
        _ configuration: MQTTPushConfiguration,
        subscriptions: SubscriptionManager,
        bridge: ThreadBridge<MQTTPushError>,
        intake: any Intake,
        logger: Logger,
        outbound: PushOutbound? = nil
    ) {
        self.configuration = configuration
        self.subscriptions = subscriptions
        self.bridge = bridge
        self.intake = intake
        log = BrokerLog(logger, configuration: configuration)
        deliveries = ReceiveLoop.deliveries(of: configuration, log)
        receiver = PushReceiver(configuration: configuration, sender: outbound?.sender, deliveries: deliveries)
        sink = BatchSink(wake: bridge.wake, responder: outbound?.responder)
        backoff = configuration.reconnect.backoff
    }

    private static func deliveries(of configuration: MQTTPushConfiguration, _ log: BrokerLog) -> DeliveryTracker? {
        guard let limit = configuration.deliveries else { return nil }
        do throws(DeliveryFileError) {
            return try DeliveryTracker(limit, receiveMaximum: configuration.receiveMaximum, log: log)
        } catch {
            log.deliveriesNotCounted(limit.file, error.reason)
            return nil
        }
    }

    /// Receives until the source is stopped.
    func run() throws(MQTTPushError) {
        if case .tls(.insecure, _) = configuration.security { log.insecure() }
        while !bridge.isStopping {
            let reason = try connect()
            guard reason != .stopped else { break }
            if isFatal(reason) {
                throw MQTTPushError(
                    reason.error,
                    reason.message(for: configuration.broker),
                    source: configuration.source
                )
            }
            let wait = backoff.next(
                isConfigurationError: reason.isConfigurationError,
                usesEqualJitter: reason.isAbandonment,
                jitter: .random(in: 0...1)
            )
            log.disconnected(reason, retryDelay: wait)
            pause(wait)
        }
        if wasConnected { log.stopped() }
    }

    private func isFatal(_ reason: BrokerDisconnectReason) -> Bool {
        if case .allSubscriptionsRefused = reason { return true }
        return configuration.firstConnectionMustSucceed && !wasConnected
    }

    /// Runs one connection. On return, its socket is closed and unflushed data is discarded.
    private func connect() throws(MQTTPushError) -> BrokerDisconnectReason {
        let keepsSession = configuration.sessionExpiry > .zero
        let role = ReceivingRole(
            self,
            expectsSession: wasConnected && keepsSession,
            requiresGrant: configuration.firstConnectionMustSucceed && !wasGranted
        )
        let limits = BrokerClient.Limits(
            sessionExpiry: UInt32(clamping: configuration.sessionExpiry.components.seconds),
            packetBytes: UInt32(clamping: configuration.packetLimit),
            receiveMaximum: Int32(configuration.receiveMaximum)
        )
        let connection = try BrokerConnection(
            configuration,
            limits: limits,
            cleanStart: !keepsSession || (configuration.cleanStart && !wasConnected),
            bridge: bridge,
            role: role
        )
        let reason = connection.run()
        subscriptions.disconnected(bridge.wake)
        if connection.isOpen { wasConnected = true }
        if role.isGranted { wasGranted = true }
        // After an abandonment, messages handled meanwhile must not shorten the pauses.
        if connection.isStable || role.hasAcknowledged && !reason.isAbandonment { backoff.succeeded() }
        return reason
    }

    private func pause(_ wait: Duration) {
        let deadline = ContinuousClock.now + wait
        while !bridge.isStopping && .now < deadline {
            if SocketWait(socket: -1, for: .readable, wake: bridge.wake.readEnd, limit: deadline - .now).isWoken {
                bridge.wake.drain()
            }
        }
    }
}
