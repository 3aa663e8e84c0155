#if MQTT
import AdapterSupport
import Logging

/// One run of a publisher, including its thread and the bridge to that thread.
struct PublisherRun: Sendable {
    /// The number of replies at QoS 1 that the broker may send ahead without an acknowledgement.
    private static let receiveMaximum: UInt16 = 250

    private let bridge: ThreadBridge<MQTTPushError>
    private let queue: PublishQueue

    /// - Throws: ``MQTTPushError`` `noResources` if the system cannot create the thread, or `invalidConfiguration` if a
    ///   run is already active.
    init(
        _ configuration: MQTTPublisherConfiguration,
        queue: PublishQueue,
        logger: Logger
    ) throws(MQTTPushError) {
        do throws(SystemResourceError) {
            bridge = try ThreadBridge()
        } catch {
            throw MQTTPushError(.noResources, error.description, source: configuration.source)
        }
        let log = BrokerLog(logger, configuration: configuration)
        guard queue.begin(bridge.wake, log: log) else {
            let error = MQTTPushError.invalid("the publisher is already running: wait until its run has ended")
            throw error.about(configuration.source)
        }
        do throws(SystemResourceError) {
            try bridge.start { [bridge] () throws(MQTTPushError) in
                try PublisherRun.run(configuration, queue, bridge, log)
            }
        } catch {
            queue.end(bridge.wake)
            throw MQTTPushError(.noResources, error.description, source: configuration.source)
        }
        self.queue = queue
    }

    /// Publishes until the publisher is stopped. This method runs on the run's own thread.
    private static func run(
        _ configuration: MQTTPublisherConfiguration,
        _ queue: PublishQueue,
        _ bridge: ThreadBridge<MQTTPushError>,
        _ log: BrokerLog
    ) throws(MQTTPushError) {
        let limits = ClientLimits(
            packetBytes: UInt32(clamping: 4 * configuration.replyBytes + 64 * 1_024),
            receiveMaximum: PublisherRun.receiveMaximum
        )
        let wake = bridge.wake
        let stop = StopLimit(bridge, time: configuration.stopTimeout) { queue.read(wake) { !$0.isEmpty } ?? false }
        let loop = BrokerLoop(settings: configuration, limits: limits, bridge: bridge, stop: stop, log: log)
        let wasConnected = try loop.run { _ in
            (PublishingRole(configuration, queue: queue, run: wake, stop: stop, log: log), cleanStart: true)
        }
        let left = queue.read(bridge.wake) { $0.counts.waiting } ?? 0
        if wasConnected || left > 0 { log.stopped(left) }
    }

    /// Stops accepting messages. Messages in the queue are still sent, within the configured time.
    ///
    /// This method is safe to call from any thread, and calling it again has no effect.
    func stop() {
        queue.stop(bridge.wake)
        bridge.stop()
    }

    /// Waits until the run has ended and every waiter has its result. Cancelling the task does not end this wait.
    func ended() async throws(MQTTPushError) {
        let end = await bridge.ended()
        queue.end(bridge.wake)
        if case .returned(let error?) = end { throw error }
    }
}
#endif
