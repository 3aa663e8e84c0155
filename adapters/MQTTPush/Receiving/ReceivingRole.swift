#if MQTT
import AdapterSupport
import SignalboxCore

/// Receives a push source's messages on one connection. A role is used only by its connection's thread.
///
/// Each message keeps its place in the ring of ``GateSink`` from its arrival until its acknowledgement is in the output.
/// The messages of a turn are submitted together at its end.
final class ReceivingRole: BrokerRole {
    let loop: ReceiveLoop
    private let configuration: MQTTPushConfiguration
    private let receiver: PushReceiver
    private let sink: GateSink
    private let expectsSession: Bool
    private var subscriptions: SubscriptionExchange
    /// The number of messages that may be added in this turn.
    private var room = 0
    /// When the first message of this turn arrived, or `nil` if none has.
    private var turnTime: MonotonicTime?
    /// The messages that the intake has not taken yet.
    private var waiting: ArraySlice<Arrival> = []
    /// The state of the ring when the last prefix was taken.
    private var state: GateSink.State
    /// The number of lost messages that were logged.
    private var loggedLosses = 0
    /// Whether the connection takes no further messages, because it ends when the others are settled.
    private var isEnding = false
    /// Whether the connection ends because the source stops.
    private var isStopped = false
    /// Whether any acknowledgement was taken on this connection.
    private var hasAcknowledged = false
    /// The token of the action that announces a lost session, until it is settled.
    private var lossToken: UInt64?

    init(_ loop: ReceiveLoop, expectsSession: Bool) {
        self.loop = loop
        configuration = loop.configuration
        receiver = loop.receiver
        sink = loop.sink
        self.expectsSession = expectsSession
        subscriptions = SubscriptionExchange(loop)
        sink.reset()
        state = sink.state
        receiver.use(loop.subscriptions.snapshot(clearingAdded: false))
    }

    // MARK: - From the broker

    var mayReceive: Bool {
        room > 0 && !isEnding && waiting.isEmpty && state.bytes + receiver.byteCount < configuration.heldBytes
            && (loop.deliveries?.mayReceive ?? true)
    }

    var expectsAnswer: Bool { subscriptions.isWaiting }
    var nextTurn: ContinuousClock.Instant? { subscriptions.nextTurn }
    var endsSession: Bool { isStopped && loop.sessionEnd.isRequested }

    func opened(_ connection: BrokerConnection, _ connack: Connack) -> BrokerDisconnectReason? {
        let isPresent = connack.isSessionPresent
        loop.deliveries?.connected(isSessionKept: isPresent)
        receiver.use(connection.settings.broker)
        loop.log.connected(isPresent ? ", session resumed" : ", new session")
        loop.log.changed(connack, sessionExpiry: connection.limits.sessionExpiry)
        if expectsSession && !isPresent {
            loop.log.sessionLost()
            receiver.isSessionLossPending = configuration.announcesConnections
        }
        updateRoom()
        receiver.announceSessionLoss {
            lossToken = add(packet: 0, bytes: 0, isRedelivered: true)
            return lossToken
        }
        if !isPresent { loop.subscriptions.newSessionStarted() }
        loop.subscriptions.connected(connection.bridge.wake)
        if loop.subscriptions.snapshot(clearingAdded: false).topics.isEmpty { loop.subscriptions.connection.opened() }
        return subscriptions.subscribe(connection, receiver)
    }

    func received(_ message: BrokerMessage) -> PacketViolation.Rule? {
        if message.packet != 0, sink.contains(packet: message.packet) {
            return message.isDuplicate ? nil : .packetID
        }
        guard let token = add(packet: message.packet, bytes: message.payload.count, isRedelivered: nil) else {
            return nil
        }
        let before = receiver.byteCount
        guard receiver.received(message, token: token) else {
            sink.mayAcknowledge(token)
            return nil
        }
        // Properties, and the facts of a new topic.
        let more = receiver.byteCount - before - message.payload.count
        if more > 0 { sink.add(bytes: more, to: token) }
        return nil
    }

    private func add(packet: UInt16, bytes: Int, isRedelivered: Bool?) -> UInt64? {
        let now = turnTime ?? .now()
        turnTime = now
        room -= 1
        return sink.add(packet: packet, bytes: bytes, at: now, isRedelivered: isRedelivered)
    }

    func answered(_ packet: InboundPacket) {
        subscriptions.answered(packet)
    }

    // MARK: - Turns

    func prepare(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        turnTime = nil
        submit(connection.bridge)
        receiver.logDropped(to: loop.log)
        takePrefix(connection)
        if state.abandoned > 0 { isEnding = true }
        if isEnding { drop() }
        guard !isEnding || connection.bridge.isStopping else {
            return sink.state.unsettled == 0 ? finished(connection, .abandoned(state.abandoned)) : nil
        }
        if let reason = subscriptions.update(connection, receiver) { return reason }
        let isIdle = state.count == 0 && waiting.isEmpty
        subscriptions.leaveGroups(connection, isIdle: isIdle, messages: receiver.groupMessages)
        updateRoom()
        return nil
    }

    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        isEnding = true
        drop()
        takePrefix(connection)
        guard sink.state.unsettled == 0 else { return nil }
        let reason = finished(connection, .stopped)
        isStopped = true
        if state.abandoned > 0 { loop.log.leftUnacknowledged(state.abandoned) }
        return reason
    }

    /// Takes what was settled since the last turn, so that its acknowledgements leave before the DISCONNECT.
    private func finished(_ connection: BrokerConnection, _ reason: BrokerDisconnectReason) -> BrokerDisconnectReason {
        takePrefix(connection)
        return reason
    }

    func written() {
        loop.deliveries?.settled(upTo: state.head)
    }

    func isOverdue(at now: ContinuousClock.Instant) -> Bool { subscriptions.isOverdue(at: now) }

    private func takePrefix(_ connection: BrokerConnection) {
        let taken = sink.takePrefix(into: &connection.output)
        state = sink.state
        logLosses()
        settleLoss()
        guard taken > 0 else { return }
        hasAcknowledged = true
        connection.acknowledged(taken)
    }

    private func logLosses() {
        guard state.lost > loggedLosses else { return }
        loop.log.lost(state.lost - loggedLosses)
        loggedLosses = state.lost
    }

    /// Takes note that the lost session was announced. Otherwise, the next connection announces it again.
    private func settleLoss() {
        guard let token = lossToken, state.head > token else { return }
        lossToken = nil
        receiver.isSessionLossPending = false
    }

    private var limits: GateSink.Limits {
        let isIsolating = loop.deliveries?.isIsolating ?? false
        return GateSink.Limits(unsettled: isIsolating ? 1 : state.target, bytes: configuration.heldBytes)
    }

    private func updateRoom() {
        let free = min(limits.unsettled - state.unsettled, configuration.receiveMaximum - state.count)
        room = state.hasRoom(in: limits) ? free : 0
    }

    func beginWaiting(isBlocked: Bool) -> Bool {
        // If anything but the missing room blocks the connection, such as a full output, waiting for room would not wait.
        let needsRoom = isBlocked && room <= 0 && waiting.isEmpty
        let awaited: GateSink.Awaited =
            isEnding ? .drained(isWriting: true) : needsRoom ? .room(limits) : .acknowledgement
        return sink.beginWaiting(after: state, for: awaited)
    }

    func endWaiting() {
        sink.endWaiting()
    }
}

extension ReceivingRole {
    // MARK: - To the intake

    /// Submits the messages of the turn, or those that the intake did not take before.
    private func submit(_ bridge: ThreadBridge<MQTTPushError>) {
        if !waiting.isEmpty {
            guard bridge.room.answer == .free else { return }
            waiting = waiting.dropFirst(loop.intake.take(Array(waiting), to: sink))
        } else if receiver.count > 0 {
            let (arrivals, fingerprints) = receiver.takeBatch()
            sink.registerRequests(arrivals)
            record(arrivals, fingerprints)
            waiting = arrivals.dropFirst(loop.intake.take(arrivals, to: sink))
        }
        if !waiting.isEmpty { bridge.room.want() }
    }

    /// Records what is about to be submitted. Messages that are not submitted, such as ignored ones, have tokens as well.
    private func record(_ arrivals: [Arrival], _ fingerprints: [MessageFingerprint?]) {
        guard let deliveries = loop.deliveries, let first = arrivals.first, let last = arrivals.last else { return }
        var aligned = [MessageFingerprint?](repeating: nil, count: Int(last.token - first.token) + 1)
        for (arrival, fingerprint) in zip(arrivals, fingerprints) {
            aligned[Int(arrival.token - first.token)] = fingerprint
        }
        deliveries.begin(from: first.token, aligned)
    }

    /// Gives up the messages that the intake did not take. The broker redelivers those at QoS 1.
    private func drop() {
        let unread = receiver.count > 0 ? receiver.takeBatch().arrivals : []
        guard !waiting.isEmpty || !unread.isEmpty else { return }
        loop.log.leftUnacknowledged(waiting.count + unread.count)
        sink.unregisterRequests(waiting)
        drop(waiting)
        drop(unread[...])
        waiting = []
    }

    private func drop(_ arrivals: ArraySlice<Arrival>) {
        guard let first = arrivals.first, let last = arrivals.last else { return }
        sink.drop(first.token..<last.token + 1)
    }

    /// Submits what was read, because the broker may not send it again, and waits until nothing is in progress.
    func ended(_ reason: BrokerDisconnectReason) -> Bool {
        let bridge = loop.bridge
        // Callers that wait for the broker must not wait for plugins.
        loop.subscriptions.disconnected(bridge.wake)
        submit(bridge)
        while !waiting.isEmpty, !bridge.isStopping, bridge.room.answer != .closed {
            bridge.wake.wait(for: nil)
            submit(bridge)
        }
        drop()
        while true {
            let state = sink.state
            guard state.unsettled > 0 else { break }
            if sink.beginWaiting(after: state, for: .drained(isWriting: false)) { bridge.wake.wait(for: nil) }
            sink.endWaiting()
        }
        loop.deliveries?.drained()
        // These acknowledgements are too late for this connection.
        var output = PacketOutput()
        _ = sink.takePrefix(into: &output)
        state = sink.state
        logLosses()
        settleLoss()
        _ = receiver.takeAnnouncesSessionLoss()
        // After messages were abandoned, the pauses must not become shorter because other messages were handled in the
        // meantime.
        return hasAcknowledged && !reason.isAbandonment
    }
}
#endif
