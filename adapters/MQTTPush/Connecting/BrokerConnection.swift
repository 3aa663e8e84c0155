import AdapterSupport

/// The purpose of a connection to a broker: to receive or to publish. All calls occur on the connection's thread.
protocol BrokerRole: BrokerClientDelegate {
    /// The broker has answered a SUBSCRIBE, UNSUBSCRIBE or PUBLISH. Must not use the connection, which is in a call.
    func answered(_ event: BrokerEvent)
    /// The connection is open. Called once, outside of reads.
    func opened(_ connection: BrokerConnection, sessionPresent: Bool) -> BrokerDisconnectReason?
    /// Waits for the socket and serves the connection once.
    ///
    /// - Returns: How the connection ended; `nil` if it continues.
    func turn(_ connection: BrokerConnection) -> BrokerDisconnectReason?
    /// Ends the open connection gracefully. Called before each turn once the thread must stop.
    ///
    /// - Returns: How the connection ended; `nil` to continue with a turn.
    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason?
    /// Whether an answer of the broker is overdue. Called about once a second.
    func isOverdue(at now: ContinuousClock.Instant) -> Bool
    /// The connection has ended, and its socket is closed.
    ///
    /// - Returns: Whether the connection was useful and so resets the back-off.
    func ended(_ reason: BrokerDisconnectReason) -> Bool
}

/// One connection to a broker, from CONNECT until it ends. Belongs to its thread.
///
/// Releasing it closes the socket without sending queued packets, which returns an unacknowledged batch to the broker.
final class BrokerConnection {
    let client: BrokerClient
    let bridge: ThreadBridge<MQTTPushError>
    private let settings: any BrokerSettings
    private let role: any BrokerRole
    /// Whether the broker has accepted the connection.
    private(set) var isOpen = false
    private var connack: (code: ReasonCode, sessionPresent: Bool)?
    private var disconnectCode: ReasonCode?
    private var hasProtocolError = false
    /// When the broker could first answer CONNECT.
    private var startedAt = ContinuousClock.now
    private var lastCheck = ContinuousClock.now

    /// - Parameter cleanStart: Whether the broker discards the session of the client id.
    init(
        _ settings: any BrokerSettings,
        limits: BrokerClient.Limits,
        cleanStart: Bool,
        bridge: ThreadBridge<MQTTPushError>,
        role: any BrokerRole
    ) throws(MQTTPushError) {
        self.settings = settings
        self.bridge = bridge
        self.role = role
        client = try BrokerClient(settings, limits: limits, cleanStart: cleanStart, delegate: role)
    }

    /// Connects, serves until the connection ends or the thread is stopped, and returns how it ended.
    func run() -> BrokerDisconnectReason {
        let result = bridge.blocking { client.connect() }
        guard let reason = result, !bridge.isStopping else { return .stopped }
        if let reason { return reason }
        // The answer timeout must not include the time for reading files and connecting.
        startedAt = .now
        while true {
            if bridge.isStopping {
                guard isOpen else { return .stopped }
                if let reason = role.stop(self) { return reason }
            }
            if let reason = role.turn(self) { return reason }
        }
    }

    /// Whether the open connection has lasted a minute.
    var isStable: Bool { isOpen && .now - startedAt > .seconds(60) }

    /// Opens the connection once the broker has accepted it.
    ///
    /// - Returns: How the connection ended, for example because the broker did not answer CONNECT in time.
    func open() -> BrokerDisconnectReason? {
        guard !isOpen else { return nil }
        guard let connack else { return .now - startedAt > settings.answerTimeout ? .timedOut : nil }
        isOpen = true
        return role.opened(self, sessionPresent: connack.sessionPresent)
    }

    // MARK: - Input and output

    /// Waits up to a second for the socket or a wake-up.
    ///
    /// - Returns: Whether the socket is ready.
    func wait(for interest: SocketWait.Interest, until deadline: ContinuousClock.Instant? = nil) -> Bool {
        let limit = min(.seconds(1), deadline.map { max(.zero, $0 - .now) } ?? .seconds(1))
        let wait = SocketWait(socket: client.socket, for: interest, wake: bridge.wake.readEnd, limit: limit)
        if wait.isWoken { bridge.wake.drain() }
        return wait.isReady
    }

    /// Reads at most one packet, or with TLS all that arrived with it.
    ///
    /// - Returns: Whether anything was read, and how the connection ended, if it did.
    func read() -> (hasRead: Bool, reason: BrokerDisconnectReason?) {
        let before = client.callbacks
        let reason = handleEvents(after: client.read())
        return (client.callbacks != before, reason)
    }

    /// Writes queued data without blocking.
    func write() -> BrokerDisconnectReason? {
        client.wantsWrite ? handleEvents(after: client.write(hasConnack: connack != nil)) : nil
    }

    /// Writes all queued data.
    ///
    /// - Parameter limit: The maximum wait; `nil` for the answer timeout.
    /// - Returns: How the connection ended, if it did, for example because the broker accepted nothing in time.
    func flush(within limit: Duration? = nil) -> BrokerDisconnectReason? {
        let deadline = ContinuousClock.now + (limit ?? settings.answerTimeout)
        while client.wantsWrite {
            if let reason = write() { return reason }
            // A handshake continues when data from the broker arrives.
            guard client.wantsWrite, client.isSecured else { break }
            let left = deadline - .now
            guard left > .zero else { return .timedOut }
            _ = SocketWait(socket: client.socket, for: .writable, wake: -1, limit: left)
        }
        return nil
    }

    /// Disconnects gracefully; the broker keeps the session.
    ///
    /// - Parameters:
    ///   - limit: The maximum wait for the broker to read everything.
    ///   - flushLimit: The maximum wait for the socket to accept everything; `nil` for the answer timeout.
    func finish(within limit: Duration, flushing flushLimit: Duration? = nil) -> BrokerDisconnectReason {
        let lingeringClose = LingeringClose(client.socket)
        if client.disconnect().isSuccess { _ = flush(within: flushLimit) }
        lingeringClose?.wait(limit: limit)
        return .stopped
    }

    /// Checks about once a second for overdue answers and lets the library keep the connection alive.
    func keepAlive() -> BrokerDisconnectReason? {
        let now = ContinuousClock.now
        guard now - lastCheck >= .seconds(1) else { return nil }
        lastCheck = now
        return role.isOverdue(at: now) ? .timedOut : handleEvents(after: client.keepAlive())
    }

    // MARK: - Events

    /// Handles what the broker did during a call of the client.
    ///
    /// - Returns: How the connection ended according to the events and the call's return code, in order of explanatory
    ///   value; `nil` if it has not ended.
    func handleEvents(after code: MosquittoCode) -> BrokerDisconnectReason? {
        // Depends on `errno`, so it is read first.
        let text = code.isSuccess ? "" : code.text
        for event in client.takeEvents() { handle(event) }
        if hasProtocolError { return .protocolError }
        if let connack, connack.code.isFailure { return .refused(connack.code) }
        if let disconnectCode, disconnectCode.isFailure { return .closed(disconnectCode) }
        return client.disconnectReason(code, text, hasConnack: connack != nil)
    }

    private func handle(_ event: BrokerEvent) {
        switch event {
        case .connected(let code, let sessionPresent):
            // A broker may send CONNACK only once per connection (MQTT 5.0, 3.2).
            if connack != nil { hasProtocolError = true }
            connack = (code, sessionPresent)
        // The library may report the end twice; the first report has the reason.
        case .disconnected(let code): disconnectCode = disconnectCode ?? code
        case .violation: hasProtocolError = true
        case .subscribed, .unsubscribed, .published: role.answered(event)
        }
    }
}
