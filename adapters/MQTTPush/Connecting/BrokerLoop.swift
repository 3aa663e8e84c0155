import AdapterSupport

/// The main loop of a client's thread, which makes one connection after another and waits between them.
struct BrokerLoop {
    let settings: any BrokerSettings
    let limits: BrokerClient.Limits
    let bridge: ThreadBridge<MQTTPushError>
    let log: BrokerLog

    /// Connects repeatedly until the thread is stopped.
    ///
    /// - Parameter makeRole: A closure that returns the role of the next connection, and whether the broker should
    ///   discard the client id's session. The closure's argument states whether the broker has accepted an earlier
    ///   connection.
    /// - Returns: Whether the broker accepted any connection.
    /// - Throws: ``MQTTPushError`` if a connection ended for a reason that also ends the run, or `noResources`.
    func run(_ makeRole: (Bool) -> (role: any BrokerRole, cleanStart: Bool)) throws(MQTTPushError) -> Bool {
        if case .tls(.insecure, _) = settings.security { log.insecure() }
        var backoff = settings.reconnect.backoff
        var wasConnected = false
        while !bridge.isStopping {
            let (role, cleanStart) = makeRole(wasConnected)
            let (reason, wasOpen, isStable) = try connect(role, cleanStart)
            if wasOpen { wasConnected = true }
            if role.ended(reason) || isStable { backoff.succeeded() }
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

    /// Runs one connection. When this method returns, the socket is closed and any data that was not flushed is
    /// discarded.
    private func connect(
        _ role: any BrokerRole,
        _ cleanStart: Bool
    ) throws(MQTTPushError) -> (BrokerDisconnectReason, wasOpen: Bool, isStable: Bool) {
        let connection = try BrokerConnection(
            settings,
            limits: limits,
            cleanStart: cleanStart,
            bridge: bridge,
            role: role
        )
        let reason = connection.run()
        return (reason, connection.isOpen, connection.isStable)
    }

    private func pause(_ wait: Duration) {
        let deadline = ContinuousClock.now + wait
        while !bridge.isStopping && .now < deadline { bridge.wake.wait(for: deadline - .now) }
    }
}
