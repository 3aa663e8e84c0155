import AdapterSupport
import SignalboxCore
import SignalboxRoutes

/// One connection to the broker, from CONNECT until it ends. Belongs to the source's thread.
///
/// All acknowledgements are flushed before the next batch is read, so a flush never sends those of unsettled messages.
final class PushConnection {
    let configuration: MQTTPushConfiguration
    let bridge: ThreadBridge<MQTTPushError>
    let client: BrokerClient
    let receiver: PushReceiver
    let sink: BatchSink
    let intake: any Intake
    let log: BrokerLog
    let subscriptions: SubscriptionManager
    let deliveries: DeliveryTracker?
    /// The subscriptions' revision that was last applied at the broker.
    var topicsRevision = 0
    var sizing: BatchSizing
    /// Whether the broker has accepted the connection.
    private(set) var isOpen = false
    /// Whether acknowledgements were written.
    var hasAcknowledged = false
    /// Whether the connection has lasted a minute.
    private var isStable = false
    /// Whether the broker has granted a filter.
    private(set) var isGranted = false
    private let requiresGrant: Bool
    private let expectsSession: Bool
    private let startedAt = ContinuousClock.now
    private var lastCheck = ContinuousClock.now
    /// When the oldest unanswered SUBSCRIBE or UNSUBSCRIBE was first noticed.
    private var unacknowledgedSince: ContinuousClock.Instant?
    var keepaliveTimer: KeepaliveTimer

    init(_ loop: ReceiveLoop, expectsSession: Bool, cleanStart: Bool, requiresGrant: Bool) throws(MQTTPushError) {
        configuration = loop.configuration
        bridge = loop.bridge
        receiver = loop.receiver
        sink = loop.sink
        intake = loop.intake
        log = loop.log
        subscriptions = loop.subscriptions
        deliveries = loop.deliveries
        sizing = BatchSizing(bound: configuration.batchMessages, ackDeadline: configuration.ackDeadline)
        self.expectsSession = expectsSession
        self.requiresGrant = requiresGrant
        keepaliveTimer = KeepaliveTimer(keepalive: configuration.keepalive, from: startedAt)
        receiver.reset()
        receiver.use(subscriptions.snapshot(clearingAdded: false))
        client = try BrokerClient(
            configuration,
            limits: BrokerClient.Limits(
                sessionExpiry: UInt32(clamping: configuration.sessionExpiry.components.seconds),
                packetBytes: UInt32(clamping: configuration.packetLimit),
                receiveMaximum: Int32(configuration.receiveMaximum)
            ),
            cleanStart: cleanStart,
            delegate: receiver
        )
    }

    /// Connects, receives until the connection ends or the source is stopped, and returns how it ended.
    func run() -> BrokerDisconnectReason {
        let result = bridge.blocking { client.connect() }
        guard let reason = result, !bridge.isStopping else { return .stopped }
        return reason ?? flush() ?? receive()
    }

    /// Returns whether this connection resets the back-off. After an abandonment, messages handled meanwhile must not
    /// shorten the pauses.
    func resetsBackoff(after reason: BrokerDisconnectReason) -> Bool {
        isStable || hasAcknowledged && !reason.isAbandonment
    }

    private func receive() -> BrokerDisconnectReason {
        while true {
            if bridge.isStopping { return finish() }
            let wait = SocketWait(
                socket: client.socket,
                for: .readable,
                wake: bridge.wake.readEnd,
                limit: .seconds(1)
            )
            if wait.isWoken { bridge.wake.drain() }
            if wait.isReady, let reason = readBatch() { return reason }
            if let reason = flush() ?? handleCallbacks() ?? keepAlive(isQuiet: !wait.isReady) { return reason }
        }
    }

    /// Reads until the batch is full or the socket is empty, and holds the batch until it is settled.
    ///
    /// Messages read before a connection broke are still submitted, because they may not be redelivered.
    private func readBatch() -> BrokerDisconnectReason? {
        let generation = receiver.generation
        var code = MosquittoCode.success
        var text = ""
        let target = deliveries?.isIsolating ?? false ? 1 : sizing.target
        // Dropped messages do not fill the batch. The bound keeps a flood of them from occupying the thread.
        for _ in 0..<configuration.batchMessages {
            guard receiver.count < target, receiver.byteCount < configuration.batchBytes, !receiver.hasProtocolError
            else { break }
            let before = client.callbacks
            code = client.read()
            if !code.isSuccess { text = code.text }
            noteEvents()
            // Without a socket, further reads would succeed and report the end endlessly.
            if !code.isSuccess || client.callbacks == before || client.socket < 0 { break }
        }
        if receiver.count > 0, let reason = deliver(receiver.takeBatch(), generation: generation) { return reason }
        let unexpected = receiver.drainUnexpectedCount()
        if unexpected > 0 { log.unexpected(unexpected) }
        let ignored = receiver.drainIgnoredCount()
        if ignored > 0 { log.ignored(ignored) }
        return disconnectReason(code, text)
    }

    /// Returns how the connection ended according to the callbacks and a return code, in order of explanatory value.
    func disconnectReason(_ code: MosquittoCode, _ text: String) -> BrokerDisconnectReason? {
        noteEvents()
        if receiver.hasProtocolError { return .protocolError }
        if let connack = receiver.connack, connack.code.isFailure { return .refused(connack.code) }
        if let disconnectCode = receiver.disconnectCode, disconnectCode.isFailure { return .closed(disconnectCode) }
        return client.disconnectReason(code, text, hasConnack: receiver.connack != nil)
    }

    private func noteEvents() {
        for event in client.takeEvents() { receiver.note(event) }
    }

    private func handleCallbacks() -> BrokerDisconnectReason? {
        if let acknowledgement = receiver.takeAcknowledgement(), let reason = handle(acknowledgement) { return reason }
        handleUnsubscribed()
        guard !isOpen else { return updateTopics() }
        guard let connack = receiver.connack else {
            return .now - startedAt > configuration.answerTimeout ? .timedOut : nil
        }
        isOpen = true
        sizing.reset()
        log.connected(connack.sessionPresent ? ", session resumed" : ", new session")
        if expectsSession && !connack.sessionPresent {
            log.sessionLost()
            receiver.isSessionLossPending = configuration.announcesConnections
        }
        receiver.announceSessionLoss()
        if !connack.sessionPresent { subscriptions.newSessionStarted() }
        subscriptions.connected(bridge.wake)
        let snapshot = subscriptions.snapshot(clearingAdded: true)
        topicsRevision = snapshot.revision
        receiver.use(snapshot)
        return subscribe(snapshot.topics) ?? unsubscribe(snapshot.filtersToUnsubscribe) ?? flush()
    }

    /// - Returns: The connection's end if nothing was granted although the first grant is required.
    private func handle(_ acknowledgement: SubscriptionRequests.Acknowledgement) -> BrokerDisconnectReason? {
        for (filter, code) in acknowledgement.refused { log.refused(filter, code) }
        for filter in acknowledgement.downgraded { log.downgraded(filter) }
        if acknowledgement.granted > 0 {
            isGranted = true
        } else if requiresGrant && !isGranted {
            if client.disconnect().isSuccess { _ = flush() }
            let refused = acknowledgement.refused.map { "\($0.filter.debugDescription): \($0.code.text)" }
            return .allSubscriptionsRefused(PushConnection.summary(refused))
        }
        log.subscribed(acknowledgement.granted)
        let errors = acknowledgement.refused.map { ($0.filter, MQTTPushError(.subscriptionRefused, $0.code.text)) }
        subscriptions.subscribed(acknowledgement.requested, refused: Dictionary(errors) { first, _ in first })
        return nil
    }

    /// Returns the first ten refusals as text; there may be a thousand.
    private static func summary(_ refused: [String]) -> String {
        guard !refused.isEmpty else { return "its SUBACK covers no filter" }
        let more = refused.count > 10 ? ", and \(refused.count - 10) more" : ""
        return refused.prefix(10).joined(separator: ", ") + more
    }

    /// Checks the keep-alive about once a second.
    ///
    /// The library drops a connection if a ping seems unanswered, but the answer may be queued behind unread messages.
    /// The library is therefore called only when there was nothing to read. While data arrives, the broker is alive,
    /// and pings sent past the library satisfy the broker's keep-alive.
    private func keepAlive(isQuiet: Bool) -> BrokerDisconnectReason? {
        let now = ContinuousClock.now
        if isOpen && now - startedAt > .seconds(60) { isStable = true }
        guard isQuiet else {
            guard isOpen, keepaliveTimer.isDue(at: now), !client.ping() else { return nil }
            return .lost("a ping could not be sent")
        }
        guard now - lastCheck >= .seconds(1) else { return nil }
        lastCheck = now
        // Nothing is left to read, so no answer is queued behind messages.
        unacknowledgedSince =
            receiver.requests.isEmpty && receiver.pendingUnsubscribes.isEmpty ? nil : unacknowledgedSince ?? now
        if let unacknowledgedSince, now - unacknowledgedSince > configuration.answerTimeout { return .timedOut }
        let code = client.keepAlive()
        return disconnectReason(code, code.text) ?? flush()
    }

    /// Writes all queued data.
    ///
    /// - Returns: How the connection ended, if it did, for example because the broker accepted nothing in time.
    func flush() -> BrokerDisconnectReason? {
        let deadline = ContinuousClock.now + configuration.answerTimeout
        while client.wantsWrite {
            let code = client.write(hasConnack: receiver.connack != nil)
            if let reason = disconnectReason(code, code.text) { return reason }
            // A handshake continues when data from the broker arrives.
            guard client.wantsWrite, client.isSecured else { break }
            let left = deadline - .now
            guard left > .zero else { return .timedOut }
            _ = SocketWait(socket: client.socket, for: .writable, wake: -1, limit: left)
        }
        return nil
    }

    /// Disconnects gracefully; the broker keeps the session.
    private func finish() -> BrokerDisconnectReason {
        guard isOpen else { return .stopped }
        let lingeringClose = LingeringClose(client.socket)
        if client.disconnect().isSuccess { _ = flush() }
        lingeringClose?.wait(limit: configuration.lingerTimeout)
        return .stopped
    }
}

extension PushConnection {
    /// Submits a batch, waits until each of its messages may be acknowledged or is abandoned, and sends the
    /// acknowledgements if all may be acknowledged.
    ///
    /// Acknowledgements cannot be sent individually. A single message that is abandoned or was never submitted makes
    /// the broker redeliver the whole batch.
    ///
    /// - Returns: How the connection ended, if it did.
    func deliver(_ batch: [Arrival], generation: UInt32) -> BrokerDisconnectReason? {
        let startedAt = ContinuousClock.now
        let announcesSessionLoss = receiver.takeAnnouncesSessionLoss()
        sink.begin(generation: generation, count: batch.count)
        sink.registerRequests(batch)
        deliveries?.begin()
        let taken = submit(batch)
        sink.unregisterRequests(batch[taken...])
        sink.finishSubmitting(taken: taken)
        while !sink.isDone { pause() }
        let abandoned = sink.abandoned
        deliveries?.end(isSettled: taken == batch.count && abandoned == 0)
        if taken < batch.count { log.leftUnacknowledged(batch.count - taken + abandoned) }
        if taken < batch.count || abandoned > 0 {
            // Queued acknowledgements are never written, but those of earlier batches must reach the broker.
            if keepaliveTimer.isConnected { client.disconnectPastQueue() }
            LingeringClose(client.socket)?.wait(limit: configuration.lingerTimeout)
            return taken < batch.count || bridge.isStopping ? .stopped : .abandoned(abandoned)
        }
        if announcesSessionLoss { receiver.isSessionLossPending = false }
        sizing.settled(batch.count, after: .now - startedAt)
        guard keepaliveTimer.isConnected else {
            return .lost("while messages were handled; they may be redelivered")
        }
        if let reason = flush() { return reason }
        hasAcknowledged = true
        return nil
    }

    /// Submits until everything is taken or the source must stop.
    ///
    /// - Returns: The number of arrivals taken.
    private func submit(_ batch: [Arrival]) -> Int {
        var taken = intake.take(batch, to: sink)
        while taken < batch.count {
            bridge.room.want()
            while bridge.room.answer == .unknown && !bridge.isStopping { pause() }
            guard bridge.room.answer == .free, !bridge.isStopping else { return taken }
            taken += intake.take(Array(batch[taken...]), to: sink)
        }
        return taken
    }

    private func pause() {
        let socket = keepaliveTimer.isConnected ? client.socket : -1
        let wait = SocketWait(
            socket: socket,
            for: .hangUp,
            wake: bridge.wake.readEnd,
            limit: keepaliveTimer.maximumWait(at: .now)
        )
        if wait.isWoken { bridge.wake.drain() }
        if wait.isClosed { keepaliveTimer.isConnected = false }
        if keepaliveTimer.isDue(at: .now) && !client.ping() { keepaliveTimer.isConnected = false }
    }
}

extension PushConnection {
    /// Applies added and removed topics at the broker, between two batches. Other subscriptions are not touched.
    func updateTopics() -> BrokerDisconnectReason? {
        guard isOpen, subscriptions.revision != topicsRevision else { return nil }
        let snapshot = subscriptions.snapshot(clearingAdded: true)
        topicsRevision = snapshot.revision
        let added = snapshot.topics.filter { snapshot.added.contains($0.pattern.filter.text) }
        receiver.use(snapshot)
        return subscribe(added) ?? unsubscribe(snapshot.filtersToUnsubscribe) ?? flush()
    }

    /// Queues SUBSCRIBEs.
    func subscribe(_ topics: [MQTTTopic]) -> BrokerDisconnectReason? {
        for group in SubscriptionGroup.groups(of: topics) {
            let (code, packet) = client.subscribe(group)
            if let reason = disconnectReason(code, code.text) { return reason }
            receiver.requests.sent(group, packet: packet)
            // The answer to an earlier UNSUBSCRIBE does not apply to a filter that is subscribed again.
            for (packet, filter) in receiver.pendingUnsubscribes where group.filters.contains(filter) {
                receiver.pendingUnsubscribes[packet] = nil
            }
        }
        return nil
    }

    /// Queues one UNSUBSCRIBE for each filter without a pending one.
    func unsubscribe(_ filters: [String]) -> BrokerDisconnectReason? {
        for filter in filters where !receiver.pendingUnsubscribes.values.contains(filter) {
            let (code, packet) = client.unsubscribe(filter)
            if let reason = disconnectReason(code, code.text) { return reason }
            receiver.pendingUnsubscribes[packet] = filter
        }
        return nil
    }

    /// Reports unsubscribed filters to the subscription manager.
    func handleUnsubscribed() {
        let filters = receiver.takeUnsubscribed()
        if !filters.isEmpty { subscriptions.unsubscribed(filters) }
    }
}

/// Determines when a ping past the library's queue is due: twice per keep-alive interval.
struct KeepaliveTimer {
    /// Whether the connection was intact at the last check.
    var isConnected = true
    private let interval: Duration
    private var next: ContinuousClock.Instant

    /// - Parameter keepalive: The keep-alive interval; zero for no pings.
    init(keepalive: Duration, from start: ContinuousClock.Instant) {
        interval = keepalive == .zero ? .seconds(86_400) : keepalive / 2
        next = start + interval
    }

    /// Returns the maximum wait. Without a connection no ping is due, and the wait ends only on a wake-up.
    func maximumWait(at now: ContinuousClock.Instant) -> Duration {
        isConnected ? max(.zero, next - now) : .seconds(60)
    }

    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard isConnected, now >= next else { return false }
        next = now + interval
        return true
    }
}
