import AdapterSupport
import SignalboxCore
import SignalboxRoutes

/// Receives a push source's messages on one connection. A role is used only by its connection's thread.
///
/// All acknowledgements are flushed before the next batch is read, so a flush never acknowledges messages that are not
/// settled.
final class ReceivingRole: BrokerRole {
    private let loop: ReceiveLoop
    private let configuration: MQTTPushConfiguration
    private let receiver: PushReceiver
    private let expectsSession: Bool
    /// Whether any acknowledgements were written on this connection.
    private var hasAcknowledged = false
    /// The SUBSCRIBEs that the broker has not answered yet.
    private var requests = SubscriptionRequests()
    private var acknowledgements: [SubscriptionRequests.Acknowledgement] = []
    /// The filters of pending UNSUBSCRIBEs, by packet identifier.
    private var pendingUnsubscribes: [Int32: String] = [:]
    private var unsubscribedFilters: [String] = []
    /// Since when at least one SUBSCRIBE or UNSUBSCRIBE has been unanswered.
    private var unacknowledgedSince: ContinuousClock.Instant?
    /// The revision of the subscriptions that was last applied at the broker.
    private var topicsRevision = 0
    /// Whether there may be unread messages after the last batch. Polling the socket cannot show this, because a socket
    /// does not become readable for messages that OpenSSL has already decrypted.
    private var mayHaveMore = false
    private var sizing: BatchSizing
    private var keepaliveTimer: KeepaliveTimer

    init(_ loop: ReceiveLoop, expectsSession: Bool) {
        self.loop = loop
        configuration = loop.configuration
        receiver = loop.receiver
        self.expectsSession = expectsSession
        sizing = BatchSizing(bound: configuration.batchMessages, ackDeadline: configuration.ackDeadline)
        keepaliveTimer = KeepaliveTimer(keepalive: configuration.keepalive, from: .now)
        receiver.use(loop.subscriptions.snapshot(clearingAdded: false))
    }

    func accepted(sessionPresent: Bool) {
        loop.deliveries?.connected(isSessionKept: sessionPresent)
    }

    func received(_ message: BrokerMessage) {
        receiver.received(message)
    }

    /// Keeps the broker's answers for ``handleAnswers(_:)``. Answers that do not belong to a request are dropped, so
    /// the number of kept answers is bounded.
    func answered(_ event: BrokerEvent) {
        switch event {
        case .subscribed(let packet, let codes):
            if let acknowledgement = requests.acknowledged(packet, codes) { acknowledgements.append(acknowledgement) }
        case .unsubscribed(let packet):
            if let filter = pendingUnsubscribes.removeValue(forKey: packet) { unsubscribedFilters.append(filter) }
        default: break
        }
    }

    // MARK: - Turns

    func opened(_ connection: BrokerConnection, sessionPresent: Bool) -> BrokerDisconnectReason? {
        sizing.reset()
        loop.log.connected(sessionPresent ? ", session resumed" : ", new session")
        if expectsSession && !sessionPresent {
            loop.log.sessionLost()
            receiver.isSessionLossPending = configuration.announcesConnections
        }
        receiver.announceSessionLoss()
        if !sessionPresent { loop.subscriptions.newSessionStarted() }
        loop.subscriptions.connected(connection.bridge.wake)
        let snapshot = loop.subscriptions.snapshot(clearingAdded: true)
        return apply(snapshot, subscribing: snapshot.topics, connection)
    }

    func turn(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        if let reason = connection.flush() { return reason }
        let isReady = mayHaveMore || connection.wait(for: .readable)
        if isReady, let reason = readBatch(connection) { return reason }
        if let reason = connection.flush() ?? handleAnswers(connection) { return reason }
        if let reason = connection.open() ?? updateTopics(connection) { return reason }
        // libmosquitto drops a connection if a ping seems unanswered, but the answer may be queued behind unread
        // messages. Its keep-alive is therefore called only when there was nothing to read. While data arrives, the
        // broker is alive, and the pings that bypass libmosquitto satisfy the broker's keep-alive.
        guard isReady else { return connection.keepAlive() }
        guard connection.isOpen, keepaliveTimer.isDue(at: .now), !connection.client.ping() else { return nil }
        return .lost("a ping could not be sent")
    }

    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        connection.finish(within: configuration.lingerTimeout)
    }

    // The connection calls this method only when nothing is left to read, so no answer can be queued behind messages.
    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        unacknowledgedSince = requests.isEmpty && pendingUnsubscribes.isEmpty ? nil : unacknowledgedSince ?? now
        return unacknowledgedSince.map { now - $0 > configuration.answerTimeout } ?? false
    }

    func ended(_ reason: BrokerDisconnectReason) -> Bool {
        loop.subscriptions.disconnected(loop.bridge.wake)
        // After messages were abandoned, the pauses must not become shorter because other messages were handled in the
        // meantime.
        return hasAcknowledged && !reason.isAbandonment
    }

    /// Reads until the batch is full or the socket is empty, then waits until the batch is settled.
    ///
    /// If the connection breaks in the meantime, the messages that were read are still submitted, because the broker
    /// may not redeliver them.
    private func readBatch(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        let generation = receiver.generation
        var reason: BrokerDisconnectReason?
        let target = loop.deliveries?.isIsolating ?? false ? 1 : sizing.target
        mayHaveMore = true
        // Dropped messages do not fill the batch. This bound keeps a flood of dropped messages from occupying the
        // thread.
        for _ in 0..<configuration.batchMessages {
            guard receiver.count < target, receiver.byteCount < configuration.batchBytes else { break }
            let result = connection.read()
            (mayHaveMore, reason) = result
            if reason != nil || !result.hasRead { break }
        }
        if receiver.count > 0, let reason = deliver(receiver.takeBatch(), generation: generation, connection) {
            return reason
        }
        receiver.logDropped(to: loop.log)
        return reason
    }
}

extension ReceivingRole {
    /// Submits a batch and waits until each message is either abandoned or may be acknowledged. If all messages may be
    /// acknowledged, this method sends the acknowledgements.
    ///
    /// Acknowledgements cannot be sent individually. If a single message is abandoned or was never submitted, the
    /// broker therefore redelivers the whole batch.
    ///
    /// - Returns: How the connection ended, or `nil` if it continues.
    private func deliver(
        _ batch: [Arrival],
        generation: UInt32,
        _ connection: BrokerConnection
    ) -> BrokerDisconnectReason? {
        let (sink, client) = (loop.sink, connection.client)
        let startedAt = ContinuousClock.now
        let announcesSessionLoss = receiver.takeAnnouncesSessionLoss()
        sink.begin(generation: generation, count: batch.count)
        sink.registerRequests(batch)
        loop.deliveries?.begin()
        let taken = submit(batch, connection)
        sink.unregisterRequests(batch[taken...])
        sink.finishSubmitting(taken: taken)
        while !sink.isDone { pause(connection) }
        let abandoned = sink.abandoned
        loop.deliveries?.end(isSettled: taken == batch.count && abandoned == 0)
        if taken < batch.count { loop.log.leftUnacknowledged(batch.count - taken + abandoned) }
        if taken < batch.count || abandoned > 0 {
            // The queued acknowledgements for this batch are never written, but those for earlier batches must reach
            // the broker.
            if keepaliveTimer.isConnected { client.disconnectPastQueue() }
            LingeringClose(client.socket)?.wait(limit: configuration.lingerTimeout)
            return taken < batch.count || connection.bridge.isStopping ? .stopped : .abandoned(abandoned)
        }
        if announcesSessionLoss { receiver.isSessionLossPending = false }
        sizing.settled(batch.count, after: .now - startedAt)
        guard keepaliveTimer.isConnected else {
            return .lost("while messages were handled; they may be redelivered")
        }
        if let reason = connection.flush() { return reason }
        hasAcknowledged = true
        return nil
    }

    /// Submits arrivals until the intake has taken all of them or the source must stop.
    ///
    /// - Returns: The number of arrivals that the intake has taken.
    private func submit(_ batch: [Arrival], _ connection: BrokerConnection) -> Int {
        let bridge = connection.bridge
        var taken = loop.intake.take(batch, to: loop.sink)
        while taken < batch.count {
            bridge.room.want()
            while bridge.room.answer == .unknown && !bridge.isStopping { pause(connection) }
            guard bridge.room.answer == .free, !bridge.isStopping else { return taken }
            taken += loop.intake.take(Array(batch[taken...]), to: loop.sink)
        }
        return taken
    }

    private func pause(_ connection: BrokerConnection) {
        let wait = SocketWait(
            socket: keepaliveTimer.isConnected ? connection.client.socket : -1,
            for: .hangUp,
            wake: connection.bridge.wake.readEnd,
            limit: keepaliveTimer.maximumWait(at: .now)
        )
        if wait.isWoken { connection.bridge.wake.drain() }
        if wait.isClosed { keepaliveTimer.isConnected = false }
        if keepaliveTimer.isDue(at: .now) && !connection.client.ping() { keepaliveTimer.isConnected = false }
    }
}

extension ReceivingRole {
    /// Applies added and removed topics at the broker, between two batches. Other subscriptions are left untouched.
    private func updateTopics(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        guard connection.isOpen, loop.subscriptions.revision != topicsRevision else { return nil }
        let snapshot = loop.subscriptions.snapshot(clearingAdded: true)
        let added = snapshot.topics.filter { snapshot.added.contains($0.pattern.filter.text) }
        return apply(snapshot, subscribing: added, connection)
    }

    /// Sends SUBSCRIBEs for the topics, and an UNSUBSCRIBE for each removed filter unless one is already pending.
    private func apply(
        _ snapshot: SubscriptionManager.Snapshot,
        subscribing topics: [MQTTTopic],
        _ connection: BrokerConnection
    ) -> BrokerDisconnectReason? {
        topicsRevision = snapshot.revision
        receiver.use(snapshot)
        for group in SubscriptionGroup.groups(of: topics) {
            let (code, packet) = connection.client.subscribe(group)
            if let reason = connection.handleEvents(after: code) { return reason }
            requests.sent(group, packet: packet)
            // If a filter is subscribed again, the answer to an earlier UNSUBSCRIBE no longer applies to it.
            pendingUnsubscribes = pendingUnsubscribes.filter { !group.filters.contains($0.value) }
        }
        for filter in snapshot.filtersToUnsubscribe where !pendingUnsubscribes.values.contains(filter) {
            let (code, packet) = connection.client.unsubscribe(filter)
            if let reason = connection.handleEvents(after: code) { return reason }
            pendingUnsubscribes[packet] = filter
        }
        return connection.flush()
    }

    /// Handles the broker's answers to SUBSCRIBEs and UNSUBSCRIBEs.
    private func handleAnswers(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        while !acknowledgements.isEmpty {
            if let reason = handle(acknowledgements.removeFirst(), connection) { return reason }
        }
        if !unsubscribedFilters.isEmpty { loop.subscriptions.unsubscribed(unsubscribedFilters) }
        unsubscribedFilters = []
        return nil
    }

    /// - Returns: `allSubscriptionsRefused` if the broker granted no filter although the configuration requires at
    ///   least one.
    private func handle(
        _ acknowledgement: SubscriptionRequests.Acknowledgement,
        _ connection: BrokerConnection
    ) -> BrokerDisconnectReason? {
        for (filter, code) in acknowledgement.refused { loop.log.refused(filter, code) }
        for filter in acknowledgement.downgraded { loop.log.downgraded(filter) }
        if acknowledgement.granted > 0 {
            loop.isGranted = true
        } else if configuration.firstConnectionMustSucceed && !loop.isGranted {
            if connection.client.disconnect().isSuccess { _ = connection.flush() }
            let refused = acknowledgement.refused.map { "\($0.filter.debugDescription): \($0.code.text)" }
            return .allSubscriptionsRefused(ReceivingRole.summary(refused))
        }
        loop.log.subscribed(acknowledgement.granted)
        let errors = acknowledgement.refused.map { ($0.filter, MQTTPushError(.subscriptionRefused, $0.code.text)) }
        loop.subscriptions.subscribed(acknowledgement.requested, refused: Dictionary(errors) { first, _ in first })
        return nil
    }

    /// Returns the first ten refusals as text, because there may be a thousand of them.
    private static func summary(_ refused: [String]) -> String {
        guard !refused.isEmpty else { return "its SUBACK covers no filter" }
        let more = refused.count > 10 ? ", and \(refused.count - 10) more" : ""
        return refused.prefix(10).joined(separator: ", ") + more
    }
}

/// Determines when to send a ping that bypasses the library's queue. Such a ping is due twice per keep-alive interval.
struct KeepaliveTimer {
    /// Whether the connection was intact at the last check.
    var isConnected = true
    private let interval: Duration
    private var next: ContinuousClock.Instant

    /// - Parameter keepalive: The keep-alive interval, or zero to send a ping only once a day.
    init(keepalive: Duration, from start: ContinuousClock.Instant) {
        interval = keepalive == .zero ? .seconds(86_400) : keepalive / 2
        next = start + interval
    }

    /// Returns the maximum wait until the next ping. Without a connection, no ping is due, so the thread only waits for
    /// a wake-up.
    func maximumWait(at now: ContinuousClock.Instant) -> Duration {
        isConnected ? max(.zero, next - now) : .seconds(60)
    }

    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard isConnected, now >= next else { return false }
        next = now + interval
        return true
    }
}
