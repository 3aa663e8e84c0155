import AdapterThreads

/// What a publisher's thread does: one connection after the other, with waits between them. Belongs to that thread.
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

    /// Publishes until it is stopped.
    func run() throws(MQTTPushError) {
        if case .tls(.insecure, _) = configuration.security { log.insecure() }
        while !control.isStopping {
            let end = try connect()
            guard end != .stopped else { break }
            if configuration.firstConnectionMustSucceed && !wasConnected {
                throw MQTTPushError(
                    end.error,
                    end.sentence(about: configuration.broker),
                    source: configuration.source
                )
            }
            let wait = backoff.next(isConfigurationFault: end.isConfigurationFault, share: .random(in: 0...1))
            log.ended(end, nextTry: wait)
            pause(wait)
        }
        let left = queue.read(number) { $0.counts.waiting } ?? 0
        if wasConnected || left > 0 { log.stopped(left) }
    }

    /// One connection; when this returns its socket is closed, and what was not acknowledged waits again.
    private func connect() throws(MQTTPushError) -> ConnectionEnd {
        let connection = try PublishConnection(self)
        let end = connection.run()
        queue.change(number) { $0.disconnected() }
        if connection.isOpen { wasConnected = true }
        if connection.isProven { backoff.succeeded() }
        return end
    }

    private func pause(_ wait: Duration) {
        let end = ContinuousClock.now + wait
        while !control.isStopping && .now < end { control.wake.wait(for: end - .now) }
    }
}
