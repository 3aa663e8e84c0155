package import SignalboxCore

/// The facts of a stored message whose own facts cannot be read any more. No access rule about facts permits them.
///
/// They have a kind of their own, so that they are not taken for the adapter's facts if the message is stored again.
package struct UnreadableFacts: UntrustedOrigin {
    /// `unreadable`.
    package static let kind = "unreadable"
    /// The kind of the stored facts.
    package let storedKind: String
    /// The stored facts as text.
    package let storedFacts: String

    /// - Parameter message: A message whose facts cannot be read.
    package init(_ message: StoredMessage) {
        storedKind = message.factsKind
        storedFacts = String(decoding: message.facts, as: UTF8.self)
    }
}

extension ArrivalBatch {
    /// Appends a stored message whose facts cannot be read any more, as a rejected arrival.
    package mutating func append(unreadable message: StoredMessage, token: UInt64) {
        append(unreadable: message, token: token, facts: UnreadableFacts(message))
    }

    /// Appends a stored message that cannot be read again, as a rejected arrival.
    ///
    /// - Parameters:
    ///   - detail: The reason.
    ///   - origin: The source and the message's facts.
    package mutating func append(
        unreadable message: StoredMessage,
        token: UInt64,
        because detail: String,
        origin: Origin
    ) {
        message.original.withUnsafeBytes { original in
            append(
                rejected: Outcome.Rejection(.malformed, detail: detail),
                original: original,
                token: token,
                origin: origin,
                receivedAt: message.receivedAt
            )
        }
    }
}

extension StoredMessage {
    /// Why a message that its adapter rejected is not read again.
    package static let wasUnreadable =
        "the adapter could not read the message when it arrived, and perhaps only its beginning is stored"
}

/// Shares one origin among successive stored messages with the same facts.
package struct StoredOrigins<Facts: OriginFacts> {
    private let source: SourceName
    private var last: (facts: Facts, origin: Origin)?

    /// - Parameter source: The source of the messages.
    package init(source: SourceName) {
        self.source = source
    }

    /// Returns the origin with these facts.
    package mutating func origin(of facts: Facts) -> Origin {
        if let last, last.facts == facts { return last.origin }
        let origin = Origin(source: source, facts: facts)
        last = (facts, origin)
        return origin
    }
}
