#if MQTT
import AdapterSupport
import Logging
import SignalboxCore
import Synchronization

/// The state of a receiving thread that outlives a single connection. Only that thread uses it.
final class ReceiveLoop {
    /// The number of messages that a new connection hands to plugins before the first is settled.
    private static let firstMessages = 16

    let configuration: MQTTPushConfiguration
    let bridge: ThreadBridge<MQTTPushError>
    let intake: any Intake
    let receiver: PushReceiver
    let sink: GateSink
    let log: BrokerLog
    let subscriptions: SubscriptionManager
    /// The tracker that counts how often each message may have crashed the process, or `nil` if counting is not
    /// configured or not possible.
    let deliveries: DeliveryTracker?
    let sessionEnd: SessionEnd
    /// Whether the broker has granted any filter so far.
    var isGranted = false

    init(
        _ configuration: MQTTPushConfiguration,
        subscriptions: SubscriptionManager,
        bridge: ThreadBridge<MQTTPushError>,
        intake: any Intake,
        logger: Logger,
        sessionEnd: SessionEnd,
        responder: Responder?,
        sender: PushSender?
    ) {
        self.configuration = configuration
        self.subscriptions = subscriptions
        self.bridge = bridge
        self.intake = intake
        self.sessionEnd = sessionEnd
        log = BrokerLog(logger, configuration: configuration, connection: subscriptions.connection)
        deliveries = ReceiveLoop.deliveries(of: configuration, log)
        receiver = PushReceiver(configuration: configuration, sender: sender, deliveries: deliveries)
        sink = GateSink(
            capacity: configuration.receiveMaximum,
            start: ReceiveLoop.firstMessages,
            ackDeadline: configuration.ackDeadline,
            wake: bridge.wake,
            responder: responder
        )
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
        let keepsSession = configuration.sessionExpiry > .zero
        let limits = ClientLimits(
            sessionExpiry: UInt32(clamping: configuration.sessionExpiry.components.seconds),
            packetBytes: UInt32(clamping: configuration.packetLimit),
            receiveMaximum: UInt16(clamping: configuration.receiveMaximum)
        )
        let loop = BrokerLoop(
            settings: configuration,
            limits: limits,
            coalescing: configuration.coalesce,
            bridge: bridge,
            stop: StopLimit(bridge),
            log: log
        )
        defer { subscriptions.runEnded() }
        do throws(MQTTPushError) {
            let wasConnected = try loop.run { wasConnected in
                (
                    ReceivingRole(self, expectsSession: wasConnected && keepsSession),
                    cleanStart: !keepsSession || (configuration.cleanStart && !wasConnected)
                )
            }
            subscriptions.connection.closed("it has stopped")
            if wasConnected { log.stopped() }
        } catch {
            subscriptions.connection.closed("it has ended: \(error.detail)")
            throw error
        }
    }
}

/// Whether the stop of a source ends its sessions.
final class SessionEnd: Sendable {
    private let requested = Atomic(false)

    var isRequested: Bool { requested.load(ordering: .relaxed) }

    func request() {
        requested.store(true, ordering: .relaxed)
    }
}
#endif
