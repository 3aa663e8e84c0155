import AdapterSupport
import CMosquitto

/// One connection of a publisher, from CONNECT until it ends. Belongs to the publisher's thread.
final class PublishConnection {
    private let loop: PublishLoop
    private let configuration: MQTTPublisherConfiguration
    private let bridge: ThreadBridge<MQTTPushError>
    private let client: BrokerClient
    private let receiver: PublishReceiver
    /// Whether the broker has accepted the connection.
    private(set) var isOpen = false
    /// Whether the broker accepted a message, or the connection lasted a minute. Either resets the back-off.
    private(set) var resetsBackoff = false
    private var replySubscription = ReplySubscription.none
    /// The reason code with which the broker refused the reply topic.
    private var refusalCode = ReasonCode.notAuthorized
    private var packets: [Int32: UInt64] = [:]
    private let startedAt = ContinuousClock.now
    private var lastCheck = ContinuousClock.now
    private var lastProgress = ContinuousClock.now

    private enum ReplySubscription { case none, requested, granted, refused }

    init(_ loop: PublishLoop) throws(MQTTPushError) {
        self.loop = loop
        configuration = loop.configuration
        bridge = loop.bridge
        receiver = PublishReceiver(
            replyTopic: loop.queue.replyTopic,
            replyLimit: configuration.replyBytes
        )
        client = try BrokerClient(
            configuration,
            limits: BrokerClient.Limits(
                packetBytes: UInt32(clamping: 4 * configuration.replyBytes + 64 * 1_024),
                sendMaximum: Int32(configuration.unacknowledgedMessages)
            ),
            cleanStart: true,
            delegate: receiver
        )
    }

    /// Connects, publishes until the connection ends or the publisher is stopped, and returns how it ended.
    func run() -> BrokerDisconnectReason {
        let result = bridge.blocking { client.connect() }
        guard let reason = result, !bridge.isStopping else { return .stopped }
        return reason ?? serve()
    }

    private func serve() -> BrokerDisconnectReason {
        var stopBy: ContinuousClock.Instant?
        while true {
            if bridge.isStopping {
                guard isOpen else { return .stopped }
                stopBy = stopBy ?? .now + configuration.stopTimeout
                let isEmpty = loop.queue.read(loop.number) { $0.isEmpty } ?? true
                if isEmpty || stopBy.map({ .now >= $0 }) ?? true { return finish() }
            }
            if let reason = send() { return reason }
            wait(until: stopBy)
            if let reason = readAndWrite() ?? handleCallbacks() ?? keepAlive() { return reason }
        }
    }

    private func wait(until deadline: ContinuousClock.Instant?) {
        // A handshake continues when data from the broker arrives.
        let mayWrite = client.wantsWrite && client.isSecured
        let limit = min(.seconds(1), deadline.map { max(.zero, $0 - .now) } ?? .seconds(1))
        let wait = SocketWait(
            socket: client.socket,
            for: mayWrite ? .readableOrWritable : .readable,
            wake: bridge.wake.readEnd,
            limit: limit
        )
        if wait.isWoken { bridge.wake.drain() }
    }

    /// Reads pending data and writes queued data without blocking.
    private func readAndWrite() -> BrokerDisconnectReason? {
        for _ in 0..<256 {
            let before = client.callbacks
            let code = client.read()
            let text = code.isSuccess ? "" : code.text
            if let reason = disconnectReason(code, text) { return reason }
            // After each read, because each reply may be large.
            handleAcknowledgements()
            if client.callbacks == before { break }
        }
        return write()
    }

    private func write() -> BrokerDisconnectReason? {
        guard client.wantsWrite else { return nil }
        let code = client.write(hasConnack: receiver.connack != nil)
        return disconnectReason(code, code.text)
    }

    /// Passes the messages that may be sent to the library.
    private func send() -> BrokerDisconnectReason? {
        guard isOpen else { return write() }
        let wantsReplies = loop.queue.read(loop.number) { $0.wantsReplies } ?? false
        if wantsReplies, replySubscription == .none {
            replySubscription = .requested
            let topic = SubscriptionGroup(qos: .atLeastOnce, retained: .deliver, filters: [loop.queue.replyTopic])
            let code = client.subscribe(topic).code
            if !code.isSuccess { return .lost(code.text) }
        }
        if wantsReplies, replySubscription == .refused { failRequests() }
        while let next = loop.queue.next(loop.number, requests: replySubscription == .granted) {
            let (code, packet) = client.publish(next.message, lifetime: next.lifetime)
            if let error = PublishConnection.error(code) {
                loop.queue.change(loop.number) { $0.fail(next.number, error, keepsEntry: false) }
                continue
            }
            if packets.isEmpty { lastProgress = .now }
            // A reused identifier belongs to a message that was never acknowledged, so the connection has failed.
            guard packets.updateValue(next.number, forKey: packet) == nil else { return .timedOut }
        }
        return write()
    }

    /// Returns the permanent error for a return code, or `nil` for success and for connection errors.
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

    /// Passes acknowledgements and replies to the queue.
    private func handleAcknowledgements() {
        for (packet, code) in receiver.takeAcknowledgements() {
            guard let number = packets.removeValue(forKey: packet) else { continue }
            lastProgress = .now
            if !code.isFailure { resetsBackoff = true }
            loop.queue.change(loop.number) { $0.acknowledged(number, code) }
        }
        for reply in receiver.takeReplies() {
            loop.queue.change(loop.number) { $0.replied(reply.correlation, reply.result) }
        }
    }

    /// Processes the callbacks' records.
    private func handleCallbacks() -> BrokerDisconnectReason? {
        handleAcknowledgements()
        if let code = receiver.takeSubscribeCode() {
            replySubscription = code.isFailure ? .refused : .granted
            if code.isFailure {
                refusalCode = code
                loop.log.replyTopicRefused(code)
            }
        }
        guard !isOpen else { return nil }
        guard receiver.connack != nil else { return .now - startedAt > configuration.answerTimeout ? .timedOut : nil }
        isOpen = true
        loop.log.connected()
        return nil
    }

    private func failRequests() {
        loop.queue.change(loop.number) { table in
            table.failRequests(
                MQTTPublishError(
                    .denied,
                    "the broker refused the subscription to the reply topic: allow it, or configure another one",
                    reasonCode: Int(refusalCode.rawValue)
                )
            )
        }
    }

    private func disconnectReason(_ code: MosquittoCode, _ text: String) -> BrokerDisconnectReason? {
        guard let reason = findDisconnectReason(code, text) else { return nil }
        // Acknowledgements received before the end count: those messages are not sent again.
        handleAcknowledgements()
        return reason
    }

    /// Returns how the connection ended according to the callbacks and a return code, in order of explanatory value.
    private func findDisconnectReason(_ code: MosquittoCode, _ text: String) -> BrokerDisconnectReason? {
        for event in client.takeEvents() { receiver.note(event) }
        if receiver.hasProtocolError { return .protocolError }
        if let connack = receiver.connack, connack.isFailure { return .refused(connack) }
        if let disconnectCode = receiver.disconnectCode, disconnectCode.isFailure { return .closed(disconnectCode) }
        return client.disconnectReason(code, text, hasConnack: receiver.connack != nil)
    }

    /// Checks about once a second for overdue acknowledgements and keep-alive.
    private func keepAlive() -> BrokerDisconnectReason? {
        let now = ContinuousClock.now
        if isOpen && now - startedAt > .seconds(60) { resetsBackoff = true }
        guard now - lastCheck >= .seconds(1) else { return nil }
        lastCheck = now
        if !packets.isEmpty, now - lastProgress > configuration.answerTimeout { return .timedOut }
        let code = client.keepAlive()
        return disconnectReason(code, code.text)
    }

    /// Disconnects gracefully.
    private func finish() -> BrokerDisconnectReason {
        let lingeringClose = LingeringClose(client.socket)
        guard client.disconnect().isSuccess else { return .stopped }
        let deadline = ContinuousClock.now + .seconds(1)
        while client.wantsWrite, client.socket >= 0, .now < deadline {
            guard client.write(hasConnack: true).isSuccess, client.wantsWrite else { break }
            _ = SocketWait(socket: client.socket, for: .writable, wake: -1, limit: deadline - .now)
        }
        lingeringClose?.wait(limit: .seconds(1))
        return .stopped
    }
}
