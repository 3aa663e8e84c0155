/// Tracks how many messages a page may still send. It has no side effects.
///
/// The unused credit and the messages without an outcome together never exceed the capacity. The messages of an earlier
/// document use up capacity until they receive their outcomes, but that document's unused credit does not.
struct FlowCredit {
    /// A number of messages, and the number of UTF-16 code units in their JSON.
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

    /// The limit for unused credit and outstanding messages together.
    let capacity: Amount
    /// The messages, from all documents, that have not yet received an outcome.
    private(set) var outstanding = Amount.none
    /// The total credit granted to the document since it began.
    private(set) var granted = Amount.none
    private var used = Amount.none

    init(capacity: Amount) {
        self.capacity = capacity
    }

    /// Resets the grant when a document begins or has ended.
    mutating func begin() {
        granted = .none
        used = .none
    }

    /// Records that the document sent a message.
    ///
    /// - Returns: Whether the document had credit for the message. If not, nothing is recorded.
    mutating func take(units: Int) -> Bool {
        let message = Amount(messages: 1, units: units)
        let left = granted - used
        guard left.messages >= 1, units <= left.units else { return false }
        used = used + message
        outstanding = outstanding + message
        return true
    }

    /// Releases the credit for a message that has received its outcome.
    mutating func release(units: Int) {
        outstanding = outstanding - Amount(messages: 1, units: units)
    }

    /// Whether to send a grant to the document even if there is nothing else to send.
    ///
    /// A grant is due if a quarter of the capacity is free. It is also due if no message is outstanding and any
    /// capacity is free, because a large message may need the whole capacity.
    var isGrantDue: Bool {
        let free = free
        if outstanding.messages == 0 { return free.messages > 0 || free.units > 0 }
        return free.messages >= max(1, capacity.messages / 4) || free.units >= max(1, capacity.units / 4)
    }

    /// Grants all free capacity.
    ///
    /// - Returns: The total credit granted to the document since it began.
    mutating func grant() -> Amount {
        granted = granted + free
        return granted
    }

    private var free: Amount { capacity - outstanding - (granted - used) }
}
