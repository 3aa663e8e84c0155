/// An adapter that can read a stored message again, so that its source can have a journal and its dead letters can be replayed.
public protocol RestoringAdapter: Adapter {
    /// Reads stored messages again, with the adapter's current routes, limits and envelopes, as if they had just arrived.
    ///
    /// This method opens no connection, and can be called from any thread, whether or not the adapter runs. If a message
    /// cannot be read any more, its arrival has a rejection. A message without an id of its sender keeps the id that it was assigned
    /// (`ArrivalBatch.take(keepingIDsOf:)`). The arrivals have no ``Arrival/sender``, unless it is independent
    /// of the connection that the message came from.
    ///
    /// - Parameters:
    ///   - messages: Messages of this source.
    ///   - now: The current time of the system's wall clock, for deadlines (``StoredMessage/expiresAt``).
    /// - Returns: One arrival for each message, in order. Their tokens are 0, 1, 2 and so on.
    func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival]
}

extension ArrivalBatch {
    /// Appends a stored message whose facts cannot be read any more, as a rejected arrival.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - token: The arrival's token.
    ///   - facts: Facts that permit nothing, for the arrival's origin.
    package mutating func append(unreadable message: StoredMessage, token: UInt64, facts: any OriginFacts) {
        let rejection = Outcome.Rejection(
            .malformed,
            detail: "the stored facts of kind \(message.factsKind) are not those of this source"
        )
        message.original.withUnsafeBytes { original in
            append(
                rejected: rejection,
                original: original,
                token: token,
                origin: Origin(source: message.source, facts: facts),
                receivedAt: message.receivedAt
            )
        }
    }
}
