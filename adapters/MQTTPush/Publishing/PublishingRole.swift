import AdapterSupport
import CMosquitto

/// Publishes messages on one connection. Used only by the publisher's thread.
final class PublishingRole: BrokerRole {
    private enum ReplySubscription: Equatable {
        case none, granted
        /// The time limit for the broker's answer begins at `start`, which is moved forward while the broker
        /// acknowledges the packets that were queued before the subscription.
        case requested(start: ContinuousClock.Instant, behind: Set<Int32>)
        case refused(ReasonCode)
    }

    /// How often a turn fills the connection with messages before it reads.
    private static let roundsPerTurn = 16

    private let configuration: MQTTPublisherConfiguration
    private let queue: PublishQueue
    private let run: WakeSignal
    private let log: BrokerLog
    /// Whether the broker has accepted any message on this connection.
    private var hasPublished = false
    private var replySubscription = ReplySubscription.none
    /// The numbers of unacknowledged messages, by packet identifier.
    private var packets: [Int32: UInt64] = [:]
    private var lastProgress = ContinuousClock.now
    /// Whether the queue may have messages that the connection would accept at once.
    private var mayHaveMore = false
    /// When to end the connection during a stop, even if messages are still waiting.
    private var stopBy: ContinuousClock.Instant?

    /// - Parameter run: The wake signal that identifies the run in the queue.
    init(_ configuration: MQTTPublisherConfiguration, queue: PublishQueue, run: WakeSignal, log: BrokerLog) {
        self.configuration = configuration
        self.queue = queue
        self.run = run
        self.log = log
    }

    func opened(_ connection: BrokerConnection, sessionPresent: Bool) -> BrokerDisconnectReason? {
        log.connected()
        return nil
    }

    func turn(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        if let reason = connection.isOpen ? send(connection) : connection.write() { return reason }
        // During a handshake, writing can continue only when data arrives from the broker.
        let mayWrite = connection.client.wantsWrite && connection.client.isSecured
        let until = mayHaveMore ? ContinuousClock.now : stopBy
        _ = connection.wait(for: mayWrite ? [.readable, .writable] : .readable, until: until)
        for _ in 0..<256 {
            let (hasRead, reason) = connection.read()
            if let reason { return reason }
            if !hasRead { break }
        }
        return connection.write() ?? connection.open() ?? connection.keepAlive()
    }

    /// Disconnects when the queue is empty or the stop timeout has expired.
    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        let deadline = stopBy ?? .now + configuration.stopTimeout
        stopBy = deadline
        let isEmpty = queue.read(run) { $0.isEmpty } ?? true
        guard isEmpty || .now >= deadline else { return nil }
        return connection.finish(within: .seconds(1), flushing: .seconds(1))
    }

    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        if case .requested(let start, _) = replySubscription, now - start > configuration.answerTimeout { return true }
        return !packets.isEmpty && now - lastProgress > configuration.answerTimeout
    }

    /// Returns unacknowledged messages to the queue.
    func ended(_ reason: BrokerDisconnectReason) -> Bool {
        queue.change(run) { $0.disconnected() }
        return hasPublished
    }

    // MARK: - To the broker

    /// Passes messages to libmosquitto until no more may be sent.
    private func send(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        let wantsReplies = queue.read(run) { $0.wantsReplies } ?? false
        if wantsReplies, replySubscription == .none, let reason = subscribe(connection) { return reason }
        if wantsReplies, case .refused(let code) = replySubscription { failRequests(code) }
        mayHaveMore = false
        for _ in 0..<PublishingRole.roundsPerTurn {
            let (count, reason) = sendRound(connection)
            if let reason = reason ?? connection.write() { return reason }
            // Messages at QoS 0 make room for others as soon as they are written.
            guard count > 0, !connection.client.wantsWrite else { return nil }
        }
        mayHaveMore = true
        return nil
    }

    /// Passes messages to libmosquitto until too many are unacknowledged.
    ///
    /// - Returns: The number of messages, and how the connection ended, if it did.
    private func sendRound(_ connection: BrokerConnection) -> (count: Int, BrokerDisconnectReason?) {
        var count = 0
        while let next = queue.next(run, requests: replySubscription == .granted) {
            count += 1
            let (code, packet) = connection.client.publish(next.message, lifetime: next.lifetime)
            if let error = PublishingRole.error(code) {
                queue.change(run) { $0.fail(next.number, error, keepsEntry: false) }
                continue
            }
            if packets.isEmpty { lastProgress = .now }
            // The library reuses an identifier only if the message that had it was never acknowledged, which means that
            // the connection has failed.
            guard packets.updateValue(next.number, forKey: packet) == nil else { return (count, .timedOut) }
        }
        return (count, nil)
    }

    private func subscribe(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        replySubscription = .requested(start: .now, behind: Set(packets.keys))
        let topic = SubscriptionGroup(qos: .atLeastOnce, retained: .deliver, filters: [queue.replyTopic])
        let code = connection.client.subscribe(topic).code
        return code.isSuccess ? nil : .lost(code.text)
    }

    /// Returns the permanent error that a return code stands for, or `nil` for success and for connection errors.
    private static func error(_ code: MosquittoCode) -> MQTTPublishError? {
        switch code.rawValue {
        case MOSQ_ERR_SUCCESS.rawValue, MOSQ_ERR_NO_CONN.rawValue, MOSQ_ERR_CONN_LOST.rawValue: nil
        case MOSQ_ERR_OVERSIZE_PACKET.rawValue, MOSQ_ERR_PAYLOAD_SIZE.rawValue:
            MQTTPublishError(.tooLarge, "the message is larger than the broker accepts")
        case MOSQ_ERR_QOS_NOT_SUPPORTED.rawValue:
            MQTTPublishError(.unsupported, "the broker does not support QoS 1")
        case MOSQ_ERR_RETAIN_NOT_SUPPORTED.rawValue:
            MQTTPublishError(.unsupported, "the broker does not support retained messages")
        default: .invalid("the message cannot be sent: \(code.text)")
        }
    }

    private func failRequests(_ code: ReasonCode) {
        let detail = "the broker refused the subscription to the reply topic: allow it, or configure another one"
        let error = MQTTPublishError(.denied, detail, reasonCode: Int(code.rawValue))
        queue.change(run) { $0.failRequests(error) }
    }

    // MARK: - From the broker

    func accepted(sessionPresent: Bool) {}

    func answered(_ event: BrokerEvent) {
        switch event {
        case .published(let packet, let code):
            guard let message = packets.removeValue(forKey: packet) else { return }
            lastProgress = .now
            if case .requested(_, var behind) = replySubscription, behind.remove(packet) != nil {
                replySubscription = .requested(start: lastProgress, behind: behind)
            }
            if !code.isFailure { hasPublished = true }
            queue.change(run) { $0.acknowledged(message, code) }
        case .subscribed(_, let codes):
            // The packet has only one filter. If the broker sends no code for it, the filter is not granted.
            let code = codes.first ?? .unspecified
            replySubscription = code.isFailure ? .refused(code) : .granted
            if code.isFailure { log.replyTopicRefused(code) }
        default: break
        }
    }

    func received(_ message: BrokerMessage) {
        let properties = message.properties.map { PushProperties(copying: $0) }
        // A correlation is valid only on the reply topic.
        let correlation = message.topic.elementsEqual(queue.replyTopic.utf8) ? properties?.correlationData : nil
        let result = reply(message.payload, properties)
        queue.change(run) { $0.replied(correlation, result) }
    }

    private func reply(
        _ payload: UnsafeRawBufferPointer,
        _ properties: PushProperties?
    ) -> Result<MQTTReply, MQTTPublishError> {
        guard payload.count <= configuration.replyBytes else {
            return .failure(MQTTPublishError(.tooLarge, "the reply has \(payload.count) bytes: raise replyBytes"))
        }
        let userProperties = properties?.userProperties ?? []
        return .success(
            MQTTReply(
                payload: Array(payload),
                outcome: userProperties.first { $0.name == "outcome" }?.value,
                contentType: properties?.contentType,
                userProperties: userProperties
            )
        )
    }
}
