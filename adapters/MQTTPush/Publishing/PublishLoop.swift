import AdapterSupport
import Logging

/// The main loop of a publisher's thread: one connection after another, with waits in between. Belongs to that thread.
final class PublishLoop {
    let configuration: MQTTPublisherConfiguration
    let number: Int
    let control: LoopControl
    let queue: PublishQueue
    let log: PublishLog
    private var backoff: ReconnectBackoff
    private var wasConnected = false

    init(
        _ configuration: MQTTPublisherConfiguration,
        run number: Int,
        control: LoopControl,
        queue: PublishQueue,
        log: PublishLog
    ) {
        self.configuration = configuration
        self.number = number
        self.control = control
        self.queue = queue
        self.log = log
        backoff = configuration.reconnect.backoff
    }

    /// Publishes until the publisher is stopped.
    func run() throws(MQTTPushError) {
        if case .tls(.insecure, _) = configuration.security { log.insecure() }
        while !control.isStopping {
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
        let connection = try PublishConnection(self)
        let reason = connection.run()
        queue.change(number) { $0.disconnected() }
        if connection.isOpen { wasConnected = true }
        if connection.resetsBackoff { backoff.succeeded() }
        return reason
    }

    private func pause(_ wait: Duration) {
        let deadline = ContinuousClock.now + wait
        while !control.isStopping && .now < deadline { control.wake.wait(for: deadline - .now) }
    }
}

/// One run of a publisher: its thread and its control.
struct PublisherRun: Sendable {
    private let control: LoopControl
    private let thread: OwnedThread
    private let queue: PublishQueue
    private let number: Int

    /// - Throws: ``MQTTPushError`` `noResources`, or `invalidConfiguration` if a run is already active.
    init(
        _ configuration: MQTTPublisherConfiguration,
        queue: PublishQueue,
        logger: Logger
    ) throws(MQTTPushError) {
        let control = try LoopControl()
        let log = PublishLog(logger, configuration: configuration)
        guard let number = queue.begin(wake: control.wake, log: log) else {
            throw MQTTPushError(
                .invalidConfiguration,
                "the publisher is already running: wait until its run has ended",
                source: configuration.source
            )
        }
        do throws(SystemResourceError) {
            thread = try OwnedThread {
                do throws(MQTTPushError) {
                    try PublishLoop(configuration, run: number, control: control, queue: queue, log: log).run()
                    control.end(nil)
                } catch {
                    control.end(error)
                }
            }
        } catch {
            queue.end(number)
            throw MQTTPushError(.noResources, error.description, source: configuration.source)
        }
        self.control = control
        self.queue = queue
        self.number = number
    }

    /// Stops accepting messages; queued ones are sent within the configured time. Idempotent; any thread.
    func stop() {
        queue.stop(number)
        control.stop()
    }

    /// Returns when the run is over and every waiter has its result. Cancellation does not end the wait.
    func ended() async throws(MQTTPushError) {
        while true {
            switch await control.nextEvent() {
            case .roomWanted: continue
            case .ended(let error):
                queue.end(number)
                thread.join()
                if let error { throw error }
                return
            case .detach:
                queue.end(number)
                thread.detach()
                return
            }
        }
    }
}
