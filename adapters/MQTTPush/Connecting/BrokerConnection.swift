import AdapterSupport

/// What a connection to a broker is used for: receiving or publishing.
///
/// The connection calls all methods on its own thread.
protocol BrokerRole: BrokerClientDelegate {
    /// Handles the broker's answer to a SUBSCRIBE, UNSUBSCRIBE or PUBLISH. The role must not use the connection in this
    /// method, which is called while one of the connection's own calls is still in progress.
    func answered(_ event: BrokerEvent)
    /// Starts the role's work when the connection has been opened. Called once, and never during a read.
    func opened(_ connection: BrokerConnection, sessionPresent: Bool) -> BrokerDisconnectReason?
    /// Waits for the socket and serves the connection once.
    ///
    /// - Returns: How the connection ended, or `nil` if it continues.
    func turn(_ connection: BrokerConnection) -> BrokerDisconnectReason?
    /// Ends the open connection gracefully. When the thread has to stop, the connection calls this method before each
    /// turn.
    ///
    /// - Returns: How the connection ended, or `nil` to continue with another turn.
    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason?
    /// Returns whether an answer from the broker is overdue. The connection calls this method about once a second.
    func isOverdue(at now: ContinuousClock.Instant) -> Bool
    /// Handles the end of the connection, after its socket was closed.
    ///
    /// - Returns: Whether the connection was useful. If so, the back-off starts again from its shortest wait.
    func ended(_ reason: BrokerDisconnectReason) -> Bool
}

/// A single connection to a broker, from CONNECT until the connection ends. Only one thread may use it.
///
/// When the connection is released, it closes the socket without sending queued packets. If a batch's acknowledgements
/// were still queued, the broker keeps the batch and redelivers it.
final class BrokerConnection {
    let client: BrokerClient
    let bridge: ThreadBridge<MQTTPushError>
    private let settings: any BrokerSettings
    private let role: any BrokerRole
    /// When the broker accepted the connection, or `nil` if it has not.
    private(set) var openedAt: ContinuousClock.Instant?
    /// Whether the broker has accepted the connection.
    var isOpen: Bool { openedAt != nil }
    /// Whether the connection has been open for more than a minute while it was served. The time for which an unsettled
    /// batch is held before the connection ends does not count, because otherwise the back-off would never grow between
    /// redeliveries.
    private(set) var isStable = false
    private var connack: (code: ReasonCode, sessionPresent: Bool)?
    private var disconnectCode: ReasonCode?
    private var hasProtocolError = false
    /// The earliest time at which the broker could have answered CONNECT.
    private var startedAt = ContinuousClock.now
    private var lastCheck = ContinuousClock.now

    /// - Parameter cleanStart: Whether the broker should discard the client id's session.
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

    /// Connects, then serves the connection until it ends or the thread is stopped. Returns how the connection ended.
    func run() -> BrokerDisconnectReason {
        let result = bridge.blocking { client.connect() }
        guard let reason = result, !bridge.isStopping else { return .stopped }
        if let reason { return reason }
        // The answer timeout must not include the time spent on reading files and connecting.
        startedAt = .now
        while true {
            if isOpen, .now - startedAt > .seconds(60) { isStable = true }
            if bridge.isStopping {
                guard isOpen else { return .stopped }
                if let reason = role.stop(self) { return reason }
            }
            if let reason = role.turn(self) { return reason }
        }
    }

    /// Opens the connection if the broker has accepted it.
    ///
    /// - Returns: How the connection ended, for example because the broker did not answer CONNECT in time, or `nil` if
    ///   the connection is open or the broker has not answered yet.
    func open() -> BrokerDisconnectReason? {
        guard !isOpen else { return nil }
        guard let connack else { return .now - startedAt > settings.answerTimeout ? .timedOut : nil }
        openedAt = .now
        return role.opened(self, sessionPresent: connack.sessionPresent)
    }

    // MARK: - Input and output

    /// Waits until the socket is ready or a wake-up arrives, but no longer than one second and never past `deadline`.
    ///
    /// - Returns: Whether the socket is ready.
    func wait(for interest: SocketWait.Interest, until deadline: ContinuousClock.Instant? = nil) -> Bool {
        let limit = min(.seconds(1), deadline.map { max(.zero, $0 - .now) } ?? .seconds(1))
        let wait = SocketWait(socket: client.socket, for: interest, wake: bridge.wake.readEnd, limit: limit)
        if wait.isWoken { bridge.wake.drain() }
        return wait.isReady
    }

    /// Reads at most one packet. With TLS, packets that arrived together with that packet are read as well.
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
    /// - Parameter limit: The maximum wait, or `nil` to use the answer timeout.
    /// - Returns: How the connection ended, for example because the broker did not accept data in time, or `nil` if it
    ///   did not end.
    func flush(within limit: Duration? = nil) -> BrokerDisconnectReason? {
        let deadline = ContinuousClock.now + (limit ?? settings.answerTimeout)
        while client.wantsWrite {
            if let reason = write() { return reason }
            // A handshake continues only when data arrives from the broker.
            guard client.wantsWrite, client.isSecured else { break }
            let left = deadline - .now
            guard left > .zero else { return .timedOut }
            _ = SocketWait(socket: client.socket, for: .writable, wake: -1, limit: left)
        }
        return nil
    }

    /// Disconnects gracefully, so that the broker keeps the session.
    ///
    /// - Parameters:
    ///   - limit: The maximum time to wait for the broker to read everything.
    ///   - flushLimit: The maximum time to wait for the socket to accept everything, or `nil` to use the answer
    ///     timeout.
    func finish(within limit: Duration, flushing flushLimit: Duration? = nil) -> BrokerDisconnectReason {
        let lingeringClose = LingeringClose(client.socket)
        if client.disconnect().isSuccess { _ = flush(within: flushLimit) }
        lingeringClose?.wait(limit: limit)
        return .stopped
    }

    /// Checks for overdue answers and lets libmosquitto keep the connection alive, at most about once a second.
    func keepAlive() -> BrokerDisconnectReason? {
        let now = ContinuousClock.now
        guard now - lastCheck >= .seconds(1) else { return nil }
        lastCheck = now
        return role.isOverdue(at: now) ? .timedOut : handleEvents(after: client.keepAlive())
    }

    // MARK: - Events

    /// Handles the events that the client recorded during a call.
    ///
    /// - Returns: How the connection ended, or `nil` if it did not. If the events and the call's return code suggest
    ///   several reasons, the most informative one is returned.
    func handleEvents(after code: MosquittoCode) -> BrokerDisconnectReason? {
        // The text depends on `errno`, so read it before anything else can change `errno`.
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
            // A broker may send only one CONNACK per connection (MQTT 5.0, 3.2).
            if connack != nil { hasProtocolError = true }
            connack = (code, sessionPresent)
        // The library may report the end twice. Only the first report includes the reason.
        case .disconnected(let code): disconnectCode = disconnectCode ?? code
        case .violation: hasProtocolError = true
        case .subscribed, .unsubscribed, .published: role.answered(event)
        }
    }
}
