import AdapterThreads
import CMosquitto

/// One connection of a publisher, from CONNECT until it ends. Belongs to the publisher's thread.
final class PublishConnection {
    private let loop: PublishLoop
    private let configuration: MQTTPublisherConfiguration
    private let control: LoopControl
    private let client: PublishClient
    private let receiver: PublishReceiver
    /// Whether the broker has accepted the connection.
    private(set) var isOpen = false
    /// Whether the broker accepted a message, or the connection lasted a minute. Either resets the back-off.
    private(set) var isProven = false
    private var replies = ReplySubscription.none
    /// The reason code with which the broker refused the reply topic.
    private var refusal = ReasonCode.notAuthorized
    private var packets: [Int32: UInt64] = [:]
    private let began = ContinuousClock.now
    private var checked = ContinuousClock.now
    private var progressed = ContinuousClock.now

    private enum ReplySubscription { case none, asked, granted, refused }

    init(_ loop: PublishLoop) throws(MQTTPushError) {
        self.loop = loop
        configuration = loop.configuration
        control = loop.control
        receiver = PublishReceiver(
            replyTopic: loop.queue.replyTopic,
            replyLimit: configuration.replyBytes,
            version: configuration.version
        )
        client = try PublishClient(configuration, target: receiver)
    }

    /// Connects, publishes until the connection ends or the publisher is stopped, and returns how it ended.
    func run() -> ConnectionEnd {
        let tried = control.blocking { client.connect() }
        guard let end = tried, !control.isStopping else { return .stopped }
        return end ?? serve()
    }

    private func serve() -> ConnectionEnd {
        var stopBy: ContinuousClock.Instant?
        while true {
            if control.isStopping {
                guard isOpen else { return .stopped }
                stopBy = stopBy ?? .now + configuration.stopTimeout
                let isEmpty = loop.queue.read(loop.number) { $0.isEmpty } ?? true
                if isEmpty || stopBy.map({ .now >= $0 }) ?? true { return finish() }
            }
            if let end = send() { return end }
            wait(until: stopBy)
            if let end = exchange() ?? hear() ?? keepAlive() { return end }
        }
    }

    private func wait(until deadline: ContinuousClock.Instant?) {
        // A handshake continues when data from the broker arrives.
        let mayWrite = client.handle.wantsWrite && client.handle.isSecured
        let limit = min(.seconds(1), deadline.map { max(.zero, $0 - .now) } ?? .seconds(1))
        let wait = SocketWait(
            socket: client.handle.socket,
            for: mayWrite ? .readableOrWritable : .readable,
            wake: control.wake.readEnd,
            limit: limit
        )
        if wait.isWoken { control.wake.drain() }
    }

    /// Reads pending data and writes queued data without blocking.
    private func exchange() -> ConnectionEnd? {
        for _ in 0..<256 {
            let before = receiver.callbacks
            let code = client.handle.read()
            let reason = code.isSuccess ? "" : code.text
            if let end = ended(code, reason) { return end }
            // After each read, because each reply may be large.
            hearAnswers()
            if receiver.callbacks == before { break }
        }
        return write()
    }

    private func write() -> ConnectionEnd? {
        guard client.handle.wantsWrite else { return nil }
        let code = client.handle.write(isGreeted: receiver.greeting != nil)
        return ended(code, code.text)
    }

    /// Passes the messages that may be sent to the library.
    private func send() -> ConnectionEnd? {
        guard isOpen else { return write() }
        let wantsReplies = loop.queue.read(loop.number) { $0.wantsReplies } ?? false
        if wantsReplies, replies == .none {
            replies = .asked
            let code = client.subscribe(loop.queue.replyTopic)
            if !code.isSuccess { return .lost(code.text) }
        }
        if wantsReplies, replies == .refused { failRequests() }
        while let next = loop.queue.next(loop.number, requests: replies == .granted) {
            let (code, packet) = client.publish(next.message, left: next.left)
            if let error = PublishConnection.error(code) {
                loop.queue.change(loop.number) { $0.fail(next.number, error, keepsPlace: false) }
                continue
            }
            if packets.isEmpty { progressed = .now }
            // A reused identifier belongs to a message that was never acknowledged, so the connection has failed.
            guard packets.updateValue(next.number, forKey: packet) == nil else { return .silent }
        }
        return write()
    }

    /// Returns the permanent error for a return code, or `nil` for success and for connection errors.
    private static func error(_ code: MosquittoCode) -> MQTTPublishError? {
        switch code.rawValue {
        case MOSQ_ERR_SUCCESS.rawValue, MOSQ_ERR_NO_CONN.rawValue, MOSQ_ERR_CONN_LOST.rawValue: nil
        case MOSQ_ERR_OVERSIZE_PACKET.rawValue, MOSQ_ERR_PAYLOAD_SIZE.rawValue:
            MQTTPublishError(.tooLarge, "the message is larger than the broker takes")
        case MOSQ_ERR_QOS_NOT_SUPPORTED.rawValue:
            MQTTPublishError(.unsupported, "the broker takes no messages at QoS 1")
        case MOSQ_ERR_RETAIN_NOT_SUPPORTED.rawValue:
            MQTTPublishError(.unsupported, "the broker keeps no retained messages")
        default: MQTTPublishError(.invalidMessage, "the message cannot be sent: \(code.text)")
        }
    }

    /// Passes acknowledgements and replies to the queue.
    private func hearAnswers() {
        for (packet, code) in receiver.takeAnswers() {
            guard let number = packets.removeValue(forKey: packet) else { continue }
            progressed = .now
            if !code.isFailure { isProven = true }
            loop.queue.change(loop.number) { $0.answered(number, code) }
        }
        for reply in receiver.takeReplies() {
            loop.queue.change(loop.number) { $0.replied(reply.correlation, reply.result) }
        }
    }

    /// Processes the callbacks' records.
    private func hear() -> ConnectionEnd? {
        hearAnswers()
        if let granted = receiver.takeGranted() {
            replies = granted.isFailure ? .refused : .granted
            if granted.isFailure {
                refusal = granted
                loop.log.replyTopicRefused(granted)
            }
        }
        guard !isOpen else { return nil }
        guard receiver.greeting != nil else { return .now - began > configuration.answerTimeout ? .silent : nil }
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
                    reasonCode: Int(refusal.rawValue)
                )
            )
        }
    }

    private func ended(_ code: MosquittoCode, _ reason: String) -> ConnectionEnd? {
        guard let end = end(code, reason) else { return nil }
        // Acknowledgements received before the end count: those messages are not sent again.
        hearAnswers()
        return end
    }

    /// Returns how the connection ended according to the callbacks and a return code, in order of explanatory value.
    private func end(_ code: MosquittoCode, _ reason: String) -> ConnectionEnd? {
        if receiver.brokeProtocol { return .brokeProtocol }
        if let greeting = receiver.greeting, greeting.isFailure { return .refused(greeting) }
        if let goodbye = receiver.goodbye, ReasonCode(rawValue: goodbye).isFailure {
            return .closed(ReasonCode(rawValue: goodbye))
        }
        return client.handle.end(code, reason, isGreeted: receiver.greeting != nil)
    }

    /// Checks about once a second for overdue acknowledgements and keep-alive.
    private func keepAlive() -> ConnectionEnd? {
        let now = ContinuousClock.now
        if isOpen && now - began > .seconds(60) { isProven = true }
        guard now - checked >= .seconds(1) else { return nil }
        checked = now
        if !packets.isEmpty, now - progressed > configuration.answerTimeout { return .silent }
        let code = client.handle.keepAlive()
        return ended(code, code.text)
    }

    /// Disconnects gracefully.
    private func finish() -> ConnectionEnd {
        let farewell = SocketFarewell(client.handle.socket)
        guard client.handle.disconnect().isSuccess else { return .stopped }
        let deadline = ContinuousClock.now + .seconds(1)
        while client.handle.wantsWrite, client.handle.socket >= 0, .now < deadline {
            guard client.handle.write(isGreeted: true).isSuccess, client.handle.wantsWrite else { break }
            _ = SocketWait(socket: client.handle.socket, for: .writable, wake: -1, limit: deadline - .now)
        }
        farewell?.wait(limit: .seconds(1))
        return .stopped
    }
}
