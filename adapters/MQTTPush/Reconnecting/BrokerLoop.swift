#if MQTT
import AdapterSupport
import SignalboxCore

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
        var brokers = BrokerList(settings.broker, settings.furtherBrokers, order: settings.brokerOrder)
        var backoff = settings.reconnect.backoff
        var wasConnected = false
        var shortConnections = ShortConnections()
        // The most telling failure before the first connection.
        var failure: Attempt?
        // An attempt that a stop finds in progress may go on, but a stop is not the time for another one.
        var isFirst = true
        while isFirst ? !stop.isDue : !bridge.isStopping {
            isFirst = false
            let (role, cleanStart) = makeRole(wasConnected)
            let attempt = connect(to: brokers.current, role, cleanStart)
            let reason = attempt.reason
            if attempt.openFor != nil { wasConnected = true }
            if attempt.wasUseful { backoff.succeeded() }
            guard reason != .stopped, !bridge.isStopping || reason.isFinal else { break }
            if failure?.reason.isConfigurationError != true { failure = attempt }
            let (next, wait) = next(after: attempt, &brokers, &backoff)
            if reason.isFinal || settings.firstConnectionMustSucceed && !wasConnected && next != .atOnce {
                throw (reason.isFinal ? attempt : failure ?? attempt).error
            }
            log.disconnected(attempt.message, reason, retryDelay: wait, next: brokers.current)
            if !settings.clientID.isRandom, shortConnections.add(reason, openFor: attempt.openFor) {
                log.lostRepeatedly(ShortConnections.limit, within: ShortConnections.duration)
            }
            pause(wait)
        }
        return wasConnected
    }

    /// The end of a connection, or of an attempt to connect.
    private struct Attempt {
        let reason: BrokerDisconnectReason
        /// The settings, with the broker of the attempt.
        let settings: any BrokerSettings
        /// How long the connection was open, or `nil` if the broker did not accept it.
        let openFor: Duration?
        /// Whether the connection was of use, or lasted long.
        let wasUseful: Bool
        /// The broker's reference to another server.
        let serverReference: String?
        let brokers: [MQTTBroker]

        /// What happened, with a reference to a server that is not one of the brokers.
        var message: String {
            let text = reason.message(for: settings)
            guard let foreignReference else { return text }
            let server = LineText.escaped(foreignReference, limit: 256)
            return "\(text). It names the server \"\(server)\", which is not in the list"
        }

        var error: MQTTPushError { MQTTPushError(reason.error, message, source: settings.source) }

        private var foreignReference: String? {
            guard let reference = serverReference else { return nil }
            let isListed = reference.split(separator: " ").contains { name in brokers.contains { $0.isNamed(by: name) }
            }
            return isListed ? nil : reference
        }
    }

    /// Runs one connection. When this method returns, the socket is closed and any data that was not flushed is
    /// discarded.
    private func connect(to broker: MQTTBroker, _ role: any BrokerRole, _ cleanStart: Bool) -> Attempt {
        var settings = settings
        settings.broker = broker
        log.use(broker)
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
        return Attempt(
            reason: reason,
            settings: settings,
            openFor: openFor,
            wasUseful: role.ended(reason) || (openFor ?? .zero) > .seconds(60),
            serverReference: connection.serverReference,
            brokers: self.settings.brokers
        )
    }

    /// Chooses the next broker, and how long to wait before the attempt to connect to it.
    private func next(
        after attempt: Attempt,
        _ brokers: inout BrokerList,
        _ backoff: inout ReconnectBackoff
    ) -> (next: BrokerList.Next, wait: Duration) {
        let now = ContinuousClock.now
        let end: BrokerList.End
        if attempt.reason.isConfigurationError {
            let rest = backoff.next(isConfigurationError: true, jitter: .random(in: 0...1))
            end = .refused(until: now + rest, wasOpen: attempt.openFor != nil)
        } else if attempt.reason.isAbandonment {
            end = .returning
        } else if attempt.openFor == nil {
            end = .failed
        } else {
            end = attempt.wasUseful ? .lost : .unused
        }
        let next = brokers.ended(end, reference: attempt.serverReference, at: now)
        switch next {
        case .atOnce: return (next, .zero)
        case .at(let time): return (next, time - now)
        case .afterBackoff:
            let wait = backoff.next(
                isConfigurationError: false,
                usesEqualJitter: attempt.reason.isAbandonment,
                jitter: .random(in: 0...1)
            )
            return (next, wait)
        }
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
#endif
