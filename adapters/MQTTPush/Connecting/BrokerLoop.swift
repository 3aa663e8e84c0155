import AdapterSupport

/// The main loop of a client's thread: successive connections, with waits in between. Belongs to that thread.
struct BrokerLoop {
    /// How one connection went.
    struct Attempt {
        let reason: BrokerDisconnectReason
        /// Whether the broker accepted the connection.
        let wasOpen: Bool
        /// Whether the connection resets the back-off.
        let resetsBackoff: Bool
    }

    let settings: any BrokerSettings
    let bridge: ThreadBridge<MQTTPushError>
    let log: BrokerLog

    /// Connects until the thread is stopped.
    ///
    /// - Parameter connect: A closure that runs one connection. Its argument is whether an earlier one was accepted. On
    ///   return the connection's socket is closed and unflushed data is discarded.
    /// - Returns: Whether a connection was accepted.
    /// - Throws: ``MQTTPushError`` for the end of a connection that is final, and the errors of `connect`.
    func run(_ connect: (Bool) throws(MQTTPushError) -> Attempt) throws(MQTTPushError) -> Bool {
        if case .tls(.insecure, _) = settings.security { log.insecure() }
        var backoff = settings.reconnect.backoff
        var wasConnected = false
        while !bridge.isStopping {
            let attempt = try connect(wasConnected)
            let reason = attempt.reason
            if attempt.wasOpen { wasConnected = true }
            if attempt.resetsBackoff { backoff.succeeded() }
            guard reason != .stopped else { break }
            if reason.isFinal || settings.firstConnectionMustSucceed && !wasConnected {
                throw MQTTPushError(reason.error, reason.message(for: settings.broker), source: settings.source)
            }
            let wait = backoff.next(
                isConfigurationError: reason.isConfigurationError,
                usesEqualJitter: reason.isAbandonment,
                jitter: .random(in: 0...1)
            )
            log.disconnected(reason, retryDelay: wait)
            pause(wait)
        }
        return wasConnected
    }

    private func pause(_ wait: Duration) {
        let deadline = ContinuousClock.now + wait
        while !bridge.isStopping && .now < deadline { bridge.wake.wait(for: deadline - .now) }
    }
}
