/// How much a page may send before it is told more: what is granted and what has no outcome never exceed the capacity
/// together. Pure.
///
/// Documents come and go; what an earlier one sent still counts until it has its outcome, what it was granted and has not
/// used does not.
struct FlowCredit {
    /// Messages, and the UTF-16 code units of their JSON.
    struct Amount: Hashable, Sendable {
        var messages: Int
        var units: Int

        static let none = Amount(messages: 0, units: 0)

        static func + (left: Amount, right: Amount) -> Amount {
            Amount(messages: left.messages + right.messages, units: left.units + right.units)
        }

        static func - (left: Amount, right: Amount) -> Amount {
            Amount(messages: left.messages - right.messages, units: left.units - right.units)
        }
    }

    /// The most at once.
    let capacity: Amount
    /// What was sent and has no outcome, by all documents.
    private(set) var outstanding = Amount.none
    /// What the document may send, and has sent, since it began.
    private(set) var granted = Amount.none
    private var used = Amount.none

    init(capacity: Amount) {
        self.capacity = capacity
    }

    /// A document begins, or the one there was is gone: nothing is granted.
    mutating func begin() {
        granted = .none
        used = .none
    }

    /// Takes a message of the document.
    ///
    /// - Returns: whether it had leave to send it; if not, nothing is taken.
    mutating func take(units: Int) -> Bool {
        let message = Amount(messages: 1, units: units)
        let left = granted - used
        guard left.messages >= 1, units <= left.units else { return false }
        used = used + message
        outstanding = outstanding + message
        return true
    }

    /// A message has its outcome.
    mutating func release(units: Int) {
        outstanding = outstanding - Amount(messages: 1, units: units)
    }

    /// Whether the document is to be told by itself that it may send more: a quarter of the capacity is free. The last
    /// message that has its outcome is reason enough, as a large one may wait for all there is.
    var isGrantDue: Bool {
        let free = free
        if outstanding.messages == 0 { return free.messages > 0 || free.units > 0 }
        return free.messages >= max(1, capacity.messages / 4) || free.units >= max(1, capacity.units / 4)
    }

    /// Grants all that is free.
    ///
    /// - Returns: what the document may send in all, since it began.
    mutating func grant() -> Amount {
        granted = granted + free
        return granted
    }

    private var free: Amount { capacity - outstanding - (granted - used) }
}
