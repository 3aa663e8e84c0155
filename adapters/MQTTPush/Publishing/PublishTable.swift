/// What a publisher holds: messages that wait or are not acknowledged, and requests that wait for replies. A value; it does
/// nothing and asks no clock.
///
/// Every message that is taken ends once: published or failed.
struct PublishTable {
    enum Phase { case open, stopping, closed }

    /// A message that is to be sent now.
    struct Next {
        let number: UInt64
        let message: MQTTMessage
        /// For how long it is still wanted.
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
    /// Correlations of requests that ended, so that a late reply is told from a forged one.
    var ended = EndedRequests()
    /// How many answers to requests of others are still to come: a stop waits for them.
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

    /// Whether nothing waits, nothing is unacknowledged that somebody asked for, and no answer is to come.
    var isEmpty: Bool { counts.waiting == 0 && owed == 0 }

    var wantsReplies: Bool { !requests.isEmpty }

    // MARK: - Callers

    /// Why a message cannot be taken now, or `nil` when it can.
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

    /// Takes a message that ``refusal(of:isRequest:)`` had nothing against.
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

    /// Its caller waits no longer.
    ///
    /// - Parameter code: `timeout` or `cancelled`.
    mutating func giveUp(_ number: UInt64, _ code: MQTTPublishError.Code) -> [PublishEnding] {
        guard let entry = entries[number] else { return [] }
        let error = MQTTPublishError.givenUp(code, wasSent: entry.wasSent)
        return fail(number, error, keepsPlace: entry.sentAt != nil)
    }

    /// A request's caller waits no longer, whether or not its message is still here.
    mutating func giveUp(request correlation: [UInt8], _ code: MQTTPublishError.Code) -> [PublishEnding] {
        guard let request = requests[correlation] else { return [] }
        if entries[request.number] != nil { return giveUp(request.number, code) }
        return end(correlation, .failure(.givenUp(code, wasSent: true)))
    }

    // MARK: - The connection

    /// The next message to send, if there is one and the broker may have another.
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

    /// The oldest of both lanes, so that neither waits for the other for ever.
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

    /// The broker answered, or at QoS 0 the socket took it.
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

    /// It cannot be published, or will not be.
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

    /// Its connection is gone: at QoS 1 it is sent again, at QoS 0 it is lost.
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

    /// Nothing is sent any more: all that is left ends so.
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
    /// A message came on the response topic.
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
        // Whoever answered had it, so that it need not be sent again although the broker has not acknowledged it yet.
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

    /// The response topic cannot be subscribed to: no request that waits would ever be answered.
    mutating func failRequests(_ error: MQTTPublishError) -> [PublishEnding] {
        var endings: [PublishEnding] = []
        for (correlation, request) in requests {
            let isSent = entries[request.number]?.sentAt != nil
            endings += fail(request.number, error, keepsPlace: isSent) + end(correlation, .failure(error))
        }
        return endings
    }

    /// Ends a request; its message, if it is still here, is then nobody's.
    private mutating func end(
        _ correlation: [UInt8],
        _ result: Result<MQTTReply, MQTTPublishError>
    ) -> [PublishEnding] {
        guard let request = requests.removeValue(forKey: correlation) else { return [] }
        ended.insert(correlation)
        return [.request(request.waiter, result)]
    }
}

/// The bounds of a publisher's queue.
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

/// The correlations of the requests that ended last, as many as may be in flight; older ones are forgotten.
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
