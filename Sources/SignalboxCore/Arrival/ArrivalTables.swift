/// What several arrivals of a batch share, or what few of them have.
package struct ArrivalTables: Sendable {
    package var origins: [Origin] = []
    package private(set) var senders: [any Sender] = []
    /// The identity of the last sender; `nil` when it is a value, which has none.
    private var lastSender: SenderIdentity?
    package var deadlines: [ContinuousClock.Instant] = []
    package var rejections: [Outcome.Rejection] = []
    /// Random per batch maker, so that assigned ids differ between runs of a program.
    package var idPrefix: UInt64 = 0
    /// The number of arrivals the maker had seen before this batch.
    package var firstSerial: UInt64 = 0

    package init() {}

    package func assignedID(at index: UInt32) -> ActionID {
        let prefix = String(idPrefix, radix: 16)
        return ActionID(unchecked: Bytes("\(prefix)-\(firstSerial + UInt64(index))"))
    }
}

extension ArrivalTables {
    /// The position of an origin; a run of arrivals with the same object shares one.
    mutating func position(of origin: Origin) -> UInt32 {
        if let last = origins.last, last === origin { return UInt32(origins.count - 1) }
        origins.append(origin)
        return UInt32(origins.count - 1)
    }

    /// The position of a sender; a run of arrivals with the same object shares one.
    mutating func position(of sender: any Sender) -> UInt32 {
        if let lastSender, lastSender.isOf(sender) { return UInt32(senders.count - 1) }
        senders.append(sender)
        lastSender = SenderIdentity(sender)
        return UInt32(senders.count - 1)
    }

    /// The position of a deadline; a run of equal ones shares one.
    mutating func position(of deadline: ContinuousClock.Instant) -> UInt32 {
        if deadlines.last != deadline { deadlines.append(deadline) }
        return UInt32(deadlines.count - 1)
    }

    mutating func append(_ rejection: Outcome.Rejection) -> UInt32 {
        rejections.append(rejection)
        return UInt32(rejections.count - 1)
    }
}
