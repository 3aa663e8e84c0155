/// The credit with which a page may send. Credit granted and not used, plus messages without an outcome, never exceeds
/// the capacity. Pure.
///
/// Messages of an earlier document count until they have their outcomes. Its unused credit does not count.
struct FlowCredit {
    /// A number of messages, and the UTF-16 code units of their JSON.
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

    /// The maximum of granted and outstanding messages together.
    let capacity: Amount
    /// The messages of all documents without an outcome.
    private(set) var outstanding = Amount.none
    /// The total granted to the document since it began.
    private(set) var granted = Amount.none
    private var used = Amount.none

    init(capacity: Amount) {
        self.capacity = capacity
    }

    /// Resets the grant because a document begins or has ended.
    mutating func begin() {
        granted = .none
        used = .none
    }

    /// Counts a message of the document.
    ///
    /// - Returns: Whether the document had credit for it; without credit, nothing is counted.
    mutating func take(units: Int) -> Bool {
        let message = Amount(messages: 1, units: units)
        let left = granted - used
        guard left.messages >= 1, units <= left.units else { return false }
        used = used + message
        outstanding = outstanding + message
        return true
    }

    /// Releases the credit of a message that has its outcome.
    mutating func release(units: Int) {
        outstanding = outstanding - Amount(messages: 1, units: units)
    }

    /// Whether to send the document a grant without another reason: a quarter of the capacity is free. The outcome of
    /// the last message suffices too, because a large message may need the whole capacity.
    var isGrantDue: Bool {
        let free = free
        if outstanding.messages == 0 { return free.messages > 0 || free.units > 0 }
        return free.messages >= max(1, capacity.messages / 4) || free.units >= max(1, capacity.units / 4)
    }

    /// Grants all free capacity.
    ///
    /// - Returns: The total granted to the document since it began.
    mutating func grant() -> Amount {
        granted = granted + free
        return granted
    }

    private var free: Amount { capacity - outstanding - (granted - used) }
}
