/// A message between its caller and the broker's acknowledgement.
struct PublishEntry {
    /// Who hears what became of it.
    enum Waiter {
        /// Nobody waits: it was offered.
        case nobody
        case publish(CheckedContinuation<Result<MQTTReceipt, MQTTPublishError>, Never>)
        /// The request of this correlation, which waits for more than the acknowledgement.
        case request([UInt8])
        /// Its caller gave up after it was sent. It keeps its place until the connection forgets it, as the library does.
        case gone
    }

    let message: MQTTMessage
    let size: Int
    /// When nobody wants it any more.
    let expires: ContinuousClock.Instant?
    var waiter: Waiter
    /// Since when it is with the present connection.
    var sentAt: ContinuousClock.Instant?
    /// Whether it was with any connection: then it may have been published.
    var wasSent = false

    init(_ message: MQTTMessage, waiter: Waiter, now: ContinuousClock.Instant) {
        self.message = message
        self.waiter = waiter
        size = message.size
        expires = message.expiry.map { now + $0 }
    }

    var isRequest: Bool {
        if case .request = waiter { return true }
        return false
    }

    var isGone: Bool {
        if case .gone = waiter { return true }
        return false
    }
}

extension MQTTMessage {
    /// The bytes that count for a queue's bound.
    var size: Int {
        var size = payload.count + topic.utf8.count
        size += (responseTopic?.utf8.count ?? 0) + (correlation?.count ?? 0) + (contentType?.utf8.count ?? 0)
        for property in userProperties { size += property.name.utf8.count + property.value.utf8.count }
        return size
    }
}

/// What became of a message or a request, to be told to whoever waits, outside any lock.
enum PublishEnding {
    case publish(
        CheckedContinuation<Result<MQTTReceipt, MQTTPublishError>, Never>,
        Result<MQTTReceipt, MQTTPublishError>
    )
    case request(
        CheckedContinuation<Result<MQTTReply, MQTTPublishError>, Never>,
        Result<MQTTReply, MQTTPublishError>
    )
    /// Nobody waits for it: the log says that an offered message was not published.
    case offered(topic: String, MQTTPublishError)

    /// Tells the waiter; an offered message has none.
    func resume() {
        switch self {
        case .publish(let waiter, let result): waiter.resume(returning: result)
        case .request(let waiter, let result): waiter.resume(returning: result)
        case .offered: break
        }
    }
}

/// Numbers of messages in the order in which they are to be sent.
///
/// A number whose message has ended meanwhile is passed over; when those are more than half they are taken out.
struct PublishLane {
    private var numbers: [UInt64] = []
    private var head = 0

    mutating func append(_ number: UInt64) {
        numbers.append(number)
    }

    /// Puts messages that must be sent again before all others.
    mutating func prepend(_ again: [UInt64]) {
        guard !again.isEmpty else { return }
        numbers = again + numbers[head...]
        head = 0
    }

    /// The first number that `isWaiting` knows; it stays the first until it is taken.
    mutating func first(where isWaiting: (UInt64) -> Bool) -> UInt64? {
        while head < numbers.count {
            if isWaiting(numbers[head]) { return numbers[head] }
            head += 1
        }
        removeAll()
        return nil
    }

    /// Takes what ``first(where:)`` has just found.
    mutating func takeFirst() {
        head += 1
    }

    /// Keeps the numbers' memory within twice that of the messages that wait.
    mutating func compact(waiting count: Int, where isWaiting: (UInt64) -> Bool) {
        guard numbers.count > 2 * count + 64 else { return }
        numbers = numbers[head...].filter(isWaiting)
        head = 0
    }

    mutating func removeAll() {
        numbers.removeAll(keepingCapacity: true)
        head = 0
    }
}
