#if MQTT
import AdapterSupport
import DequeModule

/// Publishes messages on one connection. Used only by the publisher's thread.
final class PublishingRole: BrokerRole {
    private enum ReplySubscription: Equatable {
        case none, granted
        /// The SUBSCRIBE with this identifier was added to the output at this time.
        case requested(UInt16, at: ContinuousClock.Instant)
        case refused(ReasonCode)
    }

    /// The number of bytes in the output to which messages are added.
    private static let outputBytes = 262_144

    private let configuration: MQTTPublisherConfiguration
    private let queue: PublishQueue
    private let run: WakeSignal
    private let stop: StopLimit
    private let log: BrokerLog
    private var encoder: PublishEncoder
    /// Whether the broker has accepted any message on this connection.
    private var hasPublished = false
    private var replySubscription = ReplySubscription.none
    /// The numbers of unacknowledged QoS 1 messages, by packet identifier.
    private var packets: [UInt16: UInt64] = [:]
    /// The numbers of QoS 0 messages that are in the output.
    private var unwritten: [UInt64] = []
    /// The identifiers of answered packets, which may be used again.
    private var answeredPackets: [UInt16] = []
    /// The packet identifiers of replies that are not acknowledged yet.
    private var replies: [UInt16] = []
    private var lastProgress = ContinuousClock.now
    /// Whether QoS 1 messages were added to the output since it was last empty.
    private var hasUnwritten = false
    /// The unacknowledged messages that stand before the SUBSCRIBE of the reply topic.
    private var beforeSubscribe: Set<UInt16> = []

    /// - Parameter run: The wake signal that identifies the run in the queue.
    init(
        _ configuration: MQTTPublisherConfiguration,
        queue: PublishQueue,
        run: WakeSignal,
        stop: StopLimit,
        log: BrokerLog
    ) {
        self.configuration = configuration
        self.queue = queue
        self.run = run
        self.stop = stop
        self.log = log
        encoder = PublishEncoder(version: configuration.version)
    }

    var mayReceive: Bool { true }

    var expectsAnswer: Bool {
        if case .requested = replySubscription { return true }
        return !packets.isEmpty
    }

    func opened(_ connection: BrokerConnection, _ connack: Connack) -> BrokerDisconnectReason? {
        encoder = PublishEncoder(
            version: configuration.version,
            aliasMaximum: connack.topicAliasMaximum,
            packetLimit: connection.packetLimit
        )
        log.connected()
        return nil
    }

    func prepare(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        for packet in replies { connection.output.acknowledge(packet: packet) }
        replies = []
        for packet in answeredPackets { connection.identifiers.release(packet) }
        answeredPackets = []
        let wantsReplies = queue.read(run) { $0.wantsReplies } ?? false
        if wantsReplies, replySubscription == .none, let reason = subscribe(connection) { return reason }
        if wantsReplies, case .refused(let code) = replySubscription { failRequests(code) }
        send(connection)
        return nil
    }

    /// Disconnects when the queue is empty or the stop timeout has expired.
    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        stop.isDue ? .stopped : nil
    }

    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        if case .requested(_, let start) = replySubscription, now - start > configuration.answerTimeout { return true }
        return !packets.isEmpty && now - lastProgress > configuration.answerTimeout
    }

    /// Returns unacknowledged messages to the queue.
    func ended(_ reason: BrokerDisconnectReason) -> Bool {
        queue.change(run) { $0.disconnected() }
        return hasPublished
    }

    // MARK: - To the broker

    /// Adds messages to the output until no more may be sent.
    private func send(_ connection: BrokerConnection) {
        while connection.output.count < PublishingRole.outputBytes,
            packets.count < Int(connection.server.receiveMaximum),
            let next = queue.next(run, requests: replySubscription == .granted)
        {
            do throws(MQTTPublishError) {
                guard try send(next, connection) else {
                    return queue.change(run) { table in
                        table.putBack(next)
                        return []
                    }
                }
            } catch {
                queue.change(run) { $0.fail(next.number, error, keepsEntry: false) }
            }
        }
    }

    /// - Returns: `false` if the output must be written first.
    private func send(_ next: PublishTable.Next, _ connection: BrokerConnection) throws(MQTTPublishError) -> Bool {
        let message = next.message
        let isConfirmed = message.qos == .atLeastOnce
        if isConfirmed, connection.server.maximumQoS == 0 {
            throw MQTTPublishError(.unsupported, "the broker does not support QoS 1")
        }
        if message.retain, !connection.server.isRetainAvailable {
            throw MQTTPublishError(.unsupported, "the broker does not support retained messages")
        }
        var options = PublishEncoder.Options()
        options.lifetime = next.lifetime
        if isConfirmed {
            guard let packet = connection.identifiers.take() else {
                throw .invalid("there is no packet identifier left")
            }
            options.packet = packet
        }
        do throws(PacketEncodingError) {
            try encoder.encode(message, options, into: &connection.output)
        } catch {
            connection.identifiers.release(options.packet)
            if error == .outputFull, !connection.output.isEmpty { return false }
            throw PublishingRole.error(error)
        }
        if isConfirmed {
            if packets.isEmpty { lastProgress = .now }
            packets[options.packet] = next.number
            hasUnwritten = true
        } else {
            unwritten.append(next.number)
        }
        return true
    }

    private static func error(_ error: PacketEncodingError) -> MQTTPublishError {
        switch error {
        case .packetTooLarge, .outputFull:
            MQTTPublishError(.tooLarge, "the message is larger than the broker accepts")
        default: .invalid("the message cannot be sent: \(error)")
        }
    }

    private func subscribe(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        let topic = SubscriptionGroup(qos: .atLeastOnce, retained: .deliver, filters: [queue.replyTopic])
        do throws(PacketEncodingError) {
            replySubscription = .requested(try connection.subscribe(topic), at: .now)
            beforeSubscribe = Set(packets.keys)
            return nil
        } catch {
            // A large message waits to be written. A later turn tries again.
            if error == .outputFull, !connection.output.isEmpty { return nil }
            return .setupFailed(.invalid("the reply topic cannot be subscribed: \(error)"))
        }
    }

    private func failRequests(_ code: ReasonCode) {
        let detail = "the broker refused the subscription to the reply topic: allow it, or configure another one"
        let error = MQTTPublishError(.denied, detail, reasonCode: Int(code.rawValue))
        queue.change(run) { $0.failRequests(error) }
    }

    func written() {
        // The broker cannot answer a message that is still on its way.
        if hasUnwritten { lastProgress = .now }
        hasUnwritten = false
        guard !unwritten.isEmpty else { return }
        hasPublished = true
        let numbers = unwritten
        unwritten.removeAll(keepingCapacity: true)
        queue.change(run) { table in numbers.flatMap { table.acknowledged($0, .success) } }
        // There may be room for further messages now, which the table had no place for before.
        run.wake()
    }

    // MARK: - From the broker

    func answered(_ packet: InboundPacket) {
        switch packet {
        case .puback(let packet, let code):
            guard let message = packets.removeValue(forKey: packet) else { return }
            answeredPackets.append(packet)
            lastProgress = .now
            if case .requested(let subscribe, _) = replySubscription, beforeSubscribe.remove(packet) != nil {
                replySubscription = .requested(subscribe, at: lastProgress)
            }
            if !code.isFailure { hasPublished = true }
            queue.change(run) { $0.acknowledged(message, code) }
        case .suback(let packet, let codes):
            answeredPackets.append(packet)
            // The packet has only one filter. If the broker sends no code for it, the filter is not granted.
            let code = codes.first ?? .unspecified
            replySubscription = code.isFailure ? .refused(code) : .granted
            if code.isFailure { log.replyTopicRefused(code) }
        default: break
        }
    }

    func received(_ message: BrokerMessage) -> PacketViolation.Rule? {
        if message.packet != 0 { replies.append(message.packet) }
        let properties =
            message.properties.isEmpty
            ? nil : PushProperties(reading: 0..<message.properties.count, of: message.properties)
        // A correlation is valid only on the reply topic.
        let correlation = message.topic.elementsEqual(queue.replyTopic.utf8) ? properties?.correlationData : nil
        let result = reply(message, properties)
        queue.change(run) { $0.replied(correlation, result) }
        return nil
    }

    private func reply(
        _ message: BrokerMessage,
        _ properties: PushProperties?
    ) -> Result<MQTTReply, MQTTPublishError> {
        guard message.length <= configuration.replyBytes else {
            return .failure(MQTTPublishError(.tooLarge, "the reply has \(message.length) bytes: raise replyBytes"))
        }
        let userProperties = properties?.userProperties ?? []
        return .success(
            MQTTReply(
                payload: Array(message.payload),
                outcome: userProperties.first { $0.name == "outcome" }?.value,
                contentType: properties?.contentType,
                userProperties: userProperties
            )
        )
    }
}
#endif
