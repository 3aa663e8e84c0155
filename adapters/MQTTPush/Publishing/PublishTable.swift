/// The state of a publisher: waiting and unacknowledged messages, and requests waiting for replies. A value type that
/// performs no I/O and reads no clock.
///
/// Every accepted message ends exactly once: published or failed.
struct PublishTable {
    enum Phase { case open, stopping, closed }

    /// A message to send immediately.
    struct Next {
        let number: UInt64
        let message: MQTTMessage
        /// The remaining lifetime of the message.
        let left: Duration?
    }

    struct Request {
        let number: UInt64
        let waiter: CheckedContinuation<Result<MQTTReply, MQTTPublishError>, Never>
    }

    let limits: PublishLimits
    var phase = Phase.open
    private(set) var entries: [UInt64: PublishEntry] = [:]
    var requests: [[UInt8]: Request] = [:]
    /// The correlations of ended requests, which distinguish late replies from forged ones.
    var ended = EndedRequests()
    /// The number of replies still owed to received requests. A stop waits for them.
    var owed = 0
    private(set) var counts = MQTTPublishCounts()
    private(set) var inFlight: Set<UInt64> = []
    private var bytes = 0
    private var messages = PublishLane()
    private var requestLane = PublishLane()

    init(limits: PublishLimits) {
        self.limits = limits
        ended.bound = limits.requests
    }

    /// Whether no reply is owed and no message is waiting or unacknowledged, except those whose caller gave up.
    var isEmpty: Bool { counts.waiting == 0 && owed == 0 }

    var wantsReplies: Bool { !requests.isEmpty }

    // MARK: - Callers

    /// Returns why a message cannot be accepted, or `nil` if it can.
    mutating func refusal(
        of message: MQTTMessage,
        isRequest: Bool,
        isAnswer: Bool = false
    ) -> MQTTPublishError? {
        guard phase == .open || (isAnswer && phase == .stopping) else { return .notRunning }
        let size = message.size
        guard size <= limits.bytes else {
            return MQTTPublishError(
                .tooLarge,
                "the message has \(size) bytes and the queue takes at most \(limits.bytes): raise queuedBytes"
            )
        }
        guard entries.count < limits.messages, size <= limits.bytes - bytes,
            !isRequest || requests.count < limits.requests
        else {
            counts.refusedAsFull += 1
            return isRequest && requests.count >= limits.requests ? .manyRequests(limits) : .full(limits)
        }
        return nil
    }

    /// Adds a message that ``refusal(of:isRequest:isAnswer:)`` did not refuse.
    mutating func add(_ entry: PublishEntry, as number: UInt64) {
        entries[number] = entry
        bytes += entry.size
        counts.taken += 1
        counts.waiting += 1
        counts.waitingBytes += entry.size
        if entry.isRequest {
            requestLane.append(number)
            requestLane.compact(waiting: entries.count) { entries[$0] != nil }
        } else {
            messages.append(number)
            messages.compact(waiting: entries.count) { entries[$0] != nil }
        }
    }

    /// Ends the wait of a message's caller.
    ///
    /// - Parameter code: `timeout` or `cancelled`.
    mutating func giveUp(_ number: UInt64, _ code: MQTTPublishError.Code) -> [PublishEnding] {
        guard let entry = entries[number] else { return [] }
        let error = MQTTPublishError.givenUp(code, wasSent: entry.wasSent)
        return fail(number, error, keepsPlace: entry.sentAt != nil)
    }

    /// Ends the wait of a request's caller, whether or not its message is still in the table.
    mutating func giveUp(request correlation: [UInt8], _ code: MQTTPublishError.Code) -> [PublishEnding] {
        guard let request = requests[correlation] else { return [] }
        if entries[request.number] != nil { return giveUp(request.number, code) }
        return end(correlation, .failure(.givenUp(code, wasSent: true)))
    }

    // MARK: - The connection

    /// Returns the next message to send, unless none is waiting or the limit of unacknowledged messages is reached.
    mutating func next(now: ContinuousClock.Instant, requests mayAsk: Bool, _ endings: inout [PublishEnding]) -> Next? {
        while inFlight.count < limits.unacknowledged {
            guard let number = takeFirst(requests: mayAsk), let entry = entries[number] else { return nil }
            if let expires = entry.expires, expires <= now {
                endings += fail(number, .hasExpired, keepsPlace: false)
                continue
            }
            if entry.wasSent { counts.sentAgain += 1 }
            entries[number]?.sentAt = now
            entries[number]?.wasSent = true
            inFlight.insert(number)
            return Next(number: number, message: entry.message, left: entry.expires.map { $0 - now })
        }
        return nil
    }

    /// Takes the older of the two lanes' first numbers, so that neither lane starves the other.
    private mutating func takeFirst(requests mayAsk: Bool) -> UInt64? {
        let message = messages.first { entries[$0] != nil }
        let request = mayAsk ? requestLane.first { entries[$0] != nil } : nil
        if let request, request < message ?? .max {
            requestLane.takeFirst()
            return request
        }
        if message != nil { messages.takeFirst() }
        return message
    }

    /// Handles an acknowledgement, or at QoS 0 the write to the socket.
    mutating func answered(_ number: UInt64, _ code: ReasonCode) -> [PublishEnding] {
        guard code.isFailure else { return published(number, MQTTReceipt(reasonCode: Int(code.rawValue))) }
        counts.denied += entries[number].map { $0.isGone ? 0 : 1 } ?? 0
        return fail(number, .denied(code), keepsPlace: false)
    }

    private mutating func published(_ number: UInt64, _ receipt: MQTTReceipt) -> [PublishEnding] {
        guard let entry = remove(number), !entry.isGone else { return [] }
        counts.published += 1
        if case .publish(let waiter) = entry.waiter { return [.publish(waiter, .success(receipt))] }
        return []
    }

    /// Fails a message. With `keepsPlace` its entry remains, because the library still holds the message.
    mutating func fail(_ number: UInt64, _ error: MQTTPublishError, keepsPlace: Bool) -> [PublishEnding] {
        guard let entry = entries[number] else { return [] }
        if keepsPlace {
            if !entry.isGone { noLongerWaits(entry) }
            entries[number]?.waiter = .gone
        } else {
            remove(number)
        }
        guard !entry.isGone else { return [] }
        counts.failed += 1
        switch entry.waiter {
        case .publish(let waiter): return [.publish(waiter, .failure(error))]
        case .request(let correlation): return end(correlation, .failure(error))
        case .nobody: return [.offered(topic: entry.message.topic, error)]
        case .gone: return []
        }
    }

    /// Handles the end of the connection: QoS 1 messages are sent again, QoS 0 messages are lost.
    mutating func disconnected() -> [PublishEnding] {
        var endings: [PublishEnding] = []
        var again: [UInt64] = []
        var asked: [UInt64] = []
        for number in inFlight.sorted() {
            guard let entry = entries[number] else { continue }
            entries[number]?.sentAt = nil
            if entry.isGone {
                remove(number)
            } else if entry.message.quality == .atMostOnce {
                endings += fail(number, .lostWithConnection, keepsPlace: false)
            } else if entry.isRequest {
                asked.append(number)
            } else {
                again.append(number)
            }
        }
        inFlight.removeAll()
        messages.prepend(again)
        requestLane.prepend(asked)
        return endings
    }

    /// Closes the table. All remaining messages and requests fail with `stopped`.
    mutating func close() -> [PublishEnding] {
        phase = .closed
        var endings: [PublishEnding] = []
        for number in entries.keys.sorted() {
            if entries[number]?.isGone == false { counts.stopped += 1 }
            endings += fail(number, .notSent(wasSent: entries[number]?.wasSent ?? false), keepsPlace: false)
        }
        for correlation in Array(requests.keys) { endings += end(correlation, .failure(.notSent(wasSent: true))) }
        inFlight.removeAll()
        messages.removeAll()
        requestLane.removeAll()
        return endings
    }

    @discardableResult
    private mutating func remove(_ number: UInt64) -> PublishEntry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        inFlight.remove(number)
        bytes -= entry.size
        if !entry.isGone { noLongerWaits(entry) }
        return entry
    }

    private mutating func noLongerWaits(_ entry: PublishEntry) {
        counts.waiting -= 1
        counts.waitingBytes -= entry.size
    }
}

// MARK: - Replies

extension PublishTable {
    /// Handles a message on the response topic.
    mutating func replied(_ correlation: [UInt8]?, _ result: Result<MQTTReply, MQTTPublishError>) -> [PublishEnding] {
        guard let correlation, requests[correlation] != nil else {
            if let correlation, ended.contains(correlation) {
                counts.lateReplies += 1
            } else {
                counts.strayReplies += 1
            }
            return []
        }
        counts.replies += 1
        // A reply proves that the request was delivered. It is not sent again even if it is still unacknowledged.
        if let number = requests[correlation]?.number, let entry = entries[number] {
            counts.published += 1
            if entry.sentAt == nil {
                remove(number)
            } else {
                noLongerWaits(entry)
                entries[number]?.waiter = .gone
            }
        }
        return end(correlation, result)
    }

    /// Fails all waiting requests because the subscription to the response topic was refused.
    mutating func failRequests(_ error: MQTTPublishError) -> [PublishEnding] {
        var endings: [PublishEnding] = []
        for (correlation, request) in requests {
            let isSent = entries[request.number]?.sentAt != nil
            endings += fail(request.number, error, keepsPlace: isSent) + end(correlation, .failure(error))
        }
        return endings
    }

    /// Ends a request. Its message, if still in the table, has no waiter afterwards.
    private mutating func end(
        _ correlation: [UInt8],
        _ result: Result<MQTTReply, MQTTPublishError>
    ) -> [PublishEnding] {
        guard let request = requests.removeValue(forKey: correlation) else { return [] }
        ended.insert(correlation)
        return [.request(request.waiter, result)]
    }
}

/// The limits of a publisher's queue.
struct PublishLimits {
    let messages: Int
    let bytes: Int
    let unacknowledged: Int
    let requests: Int

    init(_ configuration: MQTTPublisherConfiguration) {
        messages = configuration.queuedMessages
        bytes = configuration.queuedBytes
        unacknowledged = configuration.unacknowledgedMessages
        requests = configuration.requestsInFlight
    }
}

/// The correlations of the most recently ended requests, as many as may be in flight.
struct EndedRequests {
    var bound = 1
    private var known: Set<[UInt8]> = []
    private var order: [[UInt8]] = []
    private var oldest = 0

    mutating func insert(_ correlation: [UInt8]) {
        guard known.insert(correlation).inserted else { return }
        guard order.count == bound else { return order.append(correlation) }
        known.remove(order[oldest])
        order[oldest] = correlation
        oldest = (oldest + 1) % bound
    }

    func contains(_ correlation: [UInt8]) -> Bool {
        known.contains(correlation)
    }
}
