#if MQTT
import AdapterSupport
import DequeModule
import SignalboxCore

/// Tracks a publisher's waiting and unacknowledged messages, and the requests that are waiting for replies. The table
/// performs no I/O and does not read the clock.
///
/// Every accepted message either is published or fails, exactly once.
struct PublishTable {
    enum Phase { case open, stopping, closed }

    /// A message to send immediately.
    struct Next {
        let number: UInt64
        let message: MQTTMessage
        /// How long the message is still valid.
        let lifetime: Duration?
        /// Whether the message was sent before, on another connection.
        let isRepeated: Bool
    }

    struct Request {
        let number: UInt64
        let waiter: CheckedContinuation<Result<MQTTReply, MQTTPublishError>, Never>
    }

    let limits: MQTTPublisherConfiguration
    var phase = Phase.open
    private(set) var entries: [UInt64: PublishEntry] = [:]
    var requests: [[UInt8]: Request] = [:]
    /// The correlations of requests that have ended, used to tell late replies from forged ones.
    var ended = EndedRequests()
    /// The number of received requests that have not been answered yet. A stop waits for these replies.
    var pendingReplies = 0
    private(set) var counts = MQTTPublishCounts()
    private(set) var inFlight: Set<UInt64> = []
    private var bytes = 0
    /// The numbers of unsent messages, in sending order. Numbers of messages that have already ended are skipped.
    private var messageQueue = Deque<UInt64>()
    private var requestQueue = Deque<UInt64>()

    init(limits: MQTTPublisherConfiguration) {
        self.limits = limits
        ended.capacity = limits.requestsInFlight
    }

    /// Whether there are no pending replies and no waiting or unacknowledged messages. Messages whose callers have
    /// stopped waiting are not counted.
    var isEmpty: Bool { counts.waiting == 0 && pendingReplies == 0 }

    var wantsReplies: Bool { !requests.isEmpty }

    // MARK: - Callers

    /// Returns why a message cannot be accepted, or `nil` if it can.
    ///
    /// - Parameter isReply: Whether the message is a reply to a received request. Replies are accepted even while the
    ///   publisher is stopping.
    mutating func refusal(
        of message: MQTTMessage,
        isRequest: Bool,
        isReply: Bool
    ) -> MQTTPublishError? {
        guard phase == .open || (isReply && phase == .stopping) else { return .notRunning }
        let size = message.size
        guard size <= limits.queuedBytes else {
            return MQTTPublishError(
                .tooLarge,
                "the message has \(size) bytes and the queue takes at most \(limits.queuedBytes): raise queuedBytes"
            )
        }
        guard entries.count < limits.queuedMessages, size <= limits.queuedBytes - bytes,
            !isRequest || requests.count < limits.requestsInFlight
        else {
            counts.queueFull += 1
            return isRequest && requests.count >= limits.requestsInFlight ? .manyRequests(limits) : .full(limits)
        }
        return nil
    }

    /// Adds a message that was not refused by ``refusal(of:isRequest:isReply:)``.
    mutating func add(_ entry: PublishEntry, as number: UInt64) {
        entries[number] = entry
        bytes += entry.size
        counts.accepted += 1
        counts.waiting += 1
        counts.waitingBytes += entry.size
        if entry.isRequest {
            requestQueue.append(number, waitingIn: entries)
        } else {
            messageQueue.append(number, waitingIn: entries)
        }
    }

    /// Ends a caller's wait for a message.
    mutating func cancelWait(_ number: UInt64, _ end: WaitEnd) -> [PublishCompletion] {
        guard let entry = entries[number] else { return [] }
        let error = MQTTPublishError.waitEnded(end, wasSent: entry.wasSent)
        return fail(number, error, keepsEntry: entry.sentAt != nil)
    }

    /// Ends a caller's wait for a request, whether or not the message is still in the table.
    mutating func cancelWait(request correlation: [UInt8], _ waitEnd: WaitEnd) -> [PublishCompletion] {
        guard let request = requests[correlation] else { return [] }
        if entries[request.number] != nil { return cancelWait(request.number, waitEnd) }
        return end(correlation, .failure(.waitEnded(waitEnd, wasSent: true)))
    }

    // MARK: - The connection

    /// Returns the next message to send, or `nil` if no message is waiting or too many messages are unacknowledged.
    mutating func next(
        now: ContinuousClock.Instant,
        requests allowsRequests: Bool,
        _ completions: inout [PublishCompletion]
    ) -> Next? {
        while inFlight.count < limits.unacknowledgedMessages {
            guard let number = takeFirst(requests: allowsRequests), let entry = entries[number] else { return nil }
            if let expires = entry.expires, expires <= now {
                completions += fail(number, .hasExpired, keepsEntry: false)
                continue
            }
            if entry.wasSent { counts.resent += 1 }
            entries[number]?.sentAt = now
            entries[number]?.wasSent = true
            inFlight.insert(number)
            return Next(
                number: number,
                message: entry.message,
                lifetime: entry.expires.map { $0 - now },
                isRepeated: entry.wasSent
            )
        }
        return nil
    }

    /// Puts a message that could not be sent yet before all others.
    mutating func putBack(_ next: Next) {
        guard inFlight.remove(next.number) != nil, let entry = entries[next.number] else { return }
        entries[next.number]?.sentAt = nil
        entries[next.number]?.wasSent = next.isRepeated
        if next.isRepeated { counts.resent -= 1 }
        if entry.isRequest { requestQueue.prepend(next.number) } else { messageQueue.prepend(next.number) }
    }

    /// Takes the lower of the two queues' first numbers, so that neither queue starves the other.
    private mutating func takeFirst(requests allowsRequests: Bool) -> UInt64? {
        let message = messageQueue.first(waitingIn: entries)
        let request = allowsRequests ? requestQueue.first(waitingIn: entries) : nil
        guard let request, request < message ?? .max else { return messageQueue.popFirst() }
        return requestQueue.popFirst()
    }

    /// Handles the acknowledgement of a message or, at QoS 0, that the message was written to the socket.
    mutating func acknowledged(_ number: UInt64, _ code: ReasonCode) -> [PublishCompletion] {
        guard code.isFailure else { return published(number, MQTTReceipt(reasonCode: Int(code.rawValue))) }
        counts.denied += entries[number].map { $0.isCancelled ? 0 : 1 } ?? 0
        return fail(number, .denied(code), keepsEntry: false)
    }

    private mutating func published(_ number: UInt64, _ receipt: MQTTReceipt) -> [PublishCompletion] {
        guard let entry = remove(number), !entry.isCancelled else { return [] }
        counts.published += 1
        if case .publish(let waiter) = entry.waiter { return [.publish(waiter, .success(receipt))] }
        return []
    }

    /// Fails a message. If `keepsEntry` is true, the entry remains, because the message's packet identifier is in use.
    mutating func fail(_ number: UInt64, _ error: MQTTPublishError, keepsEntry: Bool) -> [PublishCompletion] {
        guard let entry = entries[number] else { return [] }
        if keepsEntry {
            if !entry.isCancelled { removeFromWaitingCounts(entry) }
            entries[number]?.waiter = .cancelled
        } else {
            remove(number)
        }
        guard !entry.isCancelled else { return [] }
        counts.failed += 1
        switch entry.waiter {
        case .publish(let waiter): return [.publish(waiter, .failure(error))]
        case .request(let correlation): return end(correlation, .failure(error))
        case .fireAndForget: return [.offered(topic: entry.message.topic, error)]
        case .cancelled: return []
        }
    }

    /// Handles the end of the connection. QoS 1 messages are sent again on the next connection; QoS 0 messages are
    /// lost.
    mutating func disconnected() -> [PublishCompletion] {
        var completions: [PublishCompletion] = []
        var messagesToResend: [UInt64] = []
        var requestsToResend: [UInt64] = []
        for number in inFlight.sorted() {
            guard let entry = entries[number] else { continue }
            entries[number]?.sentAt = nil
            if entry.isCancelled {
                remove(number)
            } else if entry.message.qos == .atMostOnce {
                completions += fail(number, .lostWithConnection, keepsEntry: false)
            } else if entry.isRequest {
                requestsToResend.append(number)
            } else {
                messagesToResend.append(number)
            }
        }
        inFlight.removeAll()
        messageQueue = Deque(messagesToResend) + messageQueue
        requestQueue = Deque(requestsToResend) + requestQueue
        return completions
    }

    /// Closes the table. All remaining messages and requests fail with `stopped`.
    mutating func close() -> [PublishCompletion] {
        phase = .closed
        var completions: [PublishCompletion] = []
        for (number, entry) in entries.sorted(by: { $0.key < $1.key }) {
            if !entry.isCancelled { counts.stopped += 1 }
            completions += fail(number, .publisherStopped(wasSent: entry.wasSent), keepsEntry: false)
        }
        for correlation in Array(requests.keys) {
            completions += end(correlation, .failure(.publisherStopped(wasSent: true)))
        }
        inFlight.removeAll()
        messageQueue.removeAll()
        requestQueue.removeAll()
        return completions
    }

    @discardableResult
    private mutating func remove(_ number: UInt64) -> PublishEntry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        inFlight.remove(number)
        bytes -= entry.size
        if !entry.isCancelled { removeFromWaitingCounts(entry) }
        return entry
    }

    private mutating func removeFromWaitingCounts(_ entry: PublishEntry) {
        counts.waiting -= 1
        counts.waitingBytes -= entry.size
    }
}

// MARK: - Replies

extension PublishTable {
    /// Handles a message on the response topic.
    mutating func replied(_ correlation: [UInt8]?, _ result: Result<MQTTReply, MQTTPublishError>) -> [PublishCompletion]
    {
        guard let correlation, requests[correlation] != nil else {
            if let correlation, ended.contains(correlation) {
                counts.lateReplies += 1
            } else {
                counts.unmatchedReplies += 1
            }
            return []
        }
        counts.replies += 1
        // A reply proves that the request was delivered, so the request is not sent again even if it has not been
        // acknowledged.
        if let number = requests[correlation]?.number, let entry = entries[number] {
            counts.published += 1
            if entry.sentAt == nil {
                remove(number)
            } else {
                removeFromWaitingCounts(entry)
                entries[number]?.waiter = .cancelled
            }
        }
        return end(correlation, result)
    }

    /// Fails all waiting requests because the broker refused the subscription to the response topic.
    mutating func failRequests(_ error: MQTTPublishError) -> [PublishCompletion] {
        var completions: [PublishCompletion] = []
        for (correlation, request) in requests {
            let isSent = entries[request.number]?.sentAt != nil
            completions += fail(request.number, error, keepsEntry: isSent) + end(correlation, .failure(error))
        }
        return completions
    }

    /// Ends a request. If the request's message is still in the table, its entry no longer has a waiter afterwards.
    private mutating func end(
        _ correlation: [UInt8],
        _ result: Result<MQTTReply, MQTTPublishError>
    ) -> [PublishCompletion] {
        guard let request = requests.removeValue(forKey: correlation) else { return [] }
        ended.insert(correlation)
        return [.request(request.waiter, result)]
    }
}

extension Deque<UInt64> {
    /// Appends a number, and keeps the queue from holding more than about twice as many numbers as there are waiting
    /// messages.
    fileprivate mutating func append(_ number: UInt64, waitingIn entries: [UInt64: PublishEntry]) {
        append(number)
        if count > 2 * entries.count + 64 { removeAll { entries[$0] == nil } }
    }

    /// Returns the first number that belongs to a waiting message, and removes the numbers before it.
    fileprivate mutating func first(waitingIn entries: [UInt64: PublishEntry]) -> UInt64? {
        while let number = first, entries[number] == nil { removeFirst() }
        return first
    }
}

/// The correlations of the requests that ended most recently. Their number is limited to the number of requests that
/// can be in flight.
struct EndedRequests {
    var capacity = 1
    private var known: Set<[UInt8]> = []
    private var order = Deque<[UInt8]>()

    mutating func insert(_ correlation: [UInt8]) {
        guard known.insert(correlation).inserted else { return }
        order.append(correlation)
        if order.count > capacity, let oldest = order.popFirst() { known.remove(oldest) }
    }

    func contains(_ correlation: [UInt8]) -> Bool {
        known.contains(correlation)
    }
}
#endif
