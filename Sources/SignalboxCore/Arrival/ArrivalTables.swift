/// What several arrivals of a batch share, or what few of them have.
package struct ArrivalTables: Sendable {
    package var origins: [Origin] = []
    package var senders: [any Sender] = []
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
