import AdapterSupport

/// The main loop of a client's thread, which makes one connection after another and waits between them.
struct BrokerLoop {
    let settings: any BrokerSettings
    let limits: ClientLimits
    /// The most by which a message may be delayed under load, or `nil` for no delay.
    var coalescing: Duration?
    let bridge: ThreadBridge<MQTTPushError>
    /// How long a stop lets the client go on with an attempt to connect.
    let stop: StopLimit
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
        var shortConnections = ShortConnections()
        // An attempt that a stop finds in progress may go on, but a stop is not the time for another one.
        var isFirst = true
        while isFirst ? !stop.isDue : !bridge.isStopping {
            isFirst = false
            let (role, cleanStart) = makeRole(wasConnected)
            let (reason, openFor, isStable) = connect(role, cleanStart)
            if openFor != nil { wasConnected = true }
            if role.ended(reason) || isStable { backoff.succeeded() }
            guard reason != .stopped, !bridge.isStopping || reason.isFinal else { break }
            if reason.isFinal || settings.firstConnectionMustSucceed && !wasConnected {
                throw MQTTPushError(reason.error, reason.message(for: settings), source: settings.source)
            }
            let wait = backoff.next(
                isConfigurationError: reason.isConfigurationError,
                usesEqualJitter: reason.isAbandonment,
                jitter: .random(in: 0...1)
            )
            log.disconnected(reason, retryDelay: wait)
            if !settings.clientID.isRandom, shortConnections.add(reason, openFor: openFor) {
                log.lostRepeatedly(ShortConnections.limit, within: ShortConnections.duration)
            }
            pause(wait)
        }
        return wasConnected
    }

    /// Runs one connection. When this method returns, the socket is closed and any data that was not flushed is
    /// discarded.
    private func connect(
        _ role: any BrokerRole,
        _ cleanStart: Bool
    ) -> (BrokerDisconnectReason, openFor: Duration?, isStable: Bool) {
        let connection = BrokerConnection(
            settings,
            limits: limits,
            cleanStart: cleanStart,
            bridge: bridge,
            stop: stop,
            role: role,
            coalescing: coalescing
        )
        let reason = connection.run()
        // The time for which the last messages are handled does not count, because otherwise the back-off would never grow
        // between redeliveries.
        let openFor = connection.openedAt.map { .now - $0 }
        return (reason, openFor, (openFor ?? .zero) > .seconds(60))
    }

    private func pause(_ wait: Duration) {
        let deadline = ContinuousClock.now + wait
        while !bridge.isStopping && .now < deadline { bridge.wake.wait(for: deadline - .now) }
    }
}

/// Counts connections in a row that were lost soon after they opened. A broker ends the older connection when a second
/// client connects with the same id (MQTT 5.0, 3.1.4-3), so two such clients end each other's connections in turn. With
/// MQTT 3.1.1, and with some brokers, the connection ends without a reason.
struct ShortConnections {
    /// The number of connections in a row after which the cause is reported.
    static let limit = 3
    /// The time within which the connection must be lost.
    static let duration: Duration = .seconds(10)

    private var count = 0

    /// Adds a connection, or an attempt to connect if it did not open.
    ///
    /// - Returns: Whether this is the last of ``limit`` short connections in a row.
    mutating func add(_ reason: BrokerDisconnectReason, openFor: Duration?) -> Bool {
        guard let openFor else { return false }
        guard case .lost = reason, openFor < ShortConnections.duration else {
            count = 0
            return false
        }
        count += 1
        guard count == ShortConnections.limit else { return false }
        count = 0
        return true
    }
}
