import AdapterSupport
import Logging

/// The main loop of a publisher's thread: one connection after another, with waits in between. Belongs to that thread.
final class PublishLoop {
    let configuration: MQTTPublisherConfiguration
    let number: Int
    let bridge: ThreadBridge<MQTTPushError>
    let queue: PublishQueue
    let log: BrokerLog
    private var backoff: ReconnectBackoff
    private var wasConnected = false

    init(
        _ configuration: MQTTPublisherConfiguration,
        run number: Int,
        bridge: ThreadBridge<MQTTPushError>,
        queue: PublishQueue,
        log: BrokerLog
    ) {
        self.configuration = configuration
        self.number = number
        self.bridge = bridge
        self.queue = queue
        self.log = log
        backoff = configuration.reconnect.backoff
    }

    /// Publishes until the publisher is stopped.
    func run() throws(MQTTPushError) {
        if case .tls(.insecure, _) = configuration.security { log.insecure() }
        while !bridge.isStopping {
            let reason = try connect()
            guard reason != .stopped else { break }
            if configuration.firstConnectionMustSucceed && !wasConnected {
                throw MQTTPushError(
                    reason.error,
                    reason.message(for: configuration.broker),
                    source: configuration.source
                )
            }
            let wait = backoff.next(isConfigurationError: reason.isConfigurationError, jitter: .random(in: 0...1))
            log.disconnected(reason, retryDelay: wait)
            pause(wait)
        }
        let left = queue.read(number) { $0.counts.waiting } ?? 0
        if wasConnected || left > 0 { log.stopped(left) }
    }

    /// Runs one connection. On return, its socket is closed and its unacknowledged messages are waiting again.
    private func connect() throws(MQTTPushError) -> BrokerDisconnectReason {
        let role = PublishingRole(configuration, queue: queue, run: number, log: log)
        let limits = BrokerClient.Limits(
            packetBytes: UInt32(clamping: 4 * configuration.replyBytes + 64 * 1_024),
            sendMaximum: Int32(configuration.unacknowledgedMessages)
        )
        let connection = try BrokerConnection(
            configuration,
            limits: limits,
            cleanStart: true,
            bridge: bridge,
            role: role
        )
        let reason = connection.run()
        queue.change(number) { $0.disconnected() }
        if connection.isOpen { wasConnected = true }
        if role.hasPublished || connection.isStable { backoff.succeeded() }
        return reason
    }

    private func pause(_ wait: Duration) {
        let deadline = ContinuousClock.now + wait
        while !bridge.isStopping && .now < deadline { bridge.wake.wait(for: deadline - .now) }
    }
}

/// One run of a publisher: its thread and its bridge.
struct PublisherRun: Sendable {
    private let bridge: ThreadBridge<MQTTPushError>
    private let queue: PublishQueue
    private let number: Int

    /// - Throws: ``MQTTPushError`` `noResources`, or `invalidConfiguration` if a run is already active.
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
        guard let number = queue.begin(wake: bridge.wake, log: log) else {
            let error = MQTTPushError.invalid("the publisher is already running: wait until its run has ended")
            throw error.about(configuration.source)
        }
        do throws(SystemResourceError) {
            try bridge.start { [bridge] () throws(MQTTPushError) in
                try PublishLoop(configuration, run: number, bridge: bridge, queue: queue, log: log).run()
            }
        } catch {
            queue.end(number)
            throw MQTTPushError(.noResources, error.description, source: configuration.source)
        }
        self.queue = queue
        self.number = number
    }

    /// Stops accepting messages; queued ones are sent within the configured time. Idempotent; any thread.
    func stop() {
        queue.stop(number)
        bridge.stop()
    }

    /// Returns when the run is over and every waiter has its result. Cancellation does not end the wait.
    func ended() async throws(MQTTPushError) {
        let end = await bridge.ended()
        queue.end(number)
        if case .returned(let error?) = end { throw error }
    }
}
