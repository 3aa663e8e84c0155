import AdapterSupport
import SignalboxCore

/// Reads stored messages of a source again, with the source's current frames and limits.
struct RestoredMessages {
    let source: SourceName
    let frames: WebSocketFrames
    let limits: MessageLimits

    /// Returns one arrival for each message, in order. The arrivals have no sender, because their connections have ended.
    ///
    /// - Parameters:
    ///   - now: The current time of the system's wall clock.
    ///   - complete: Adds to stored facts those that are not stored.
    func arrivals(
        of messages: [StoredMessage],
        at now: WallTime,
        completing complete: (ChatFacts) -> ChatFacts = { $0 }
    ) -> [Arrival] {
        let envelopes = FrameEnvelopes(frames)
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
        var origins = StoredOrigins<ChatFacts>(source: source)
        for (position, message) in messages.enumerated() {
            let token = UInt64(position)
            guard let facts = message.facts(as: ChatFacts.self) else {
                batch.append(unreadable: message, token: token)
                continue
            }
            let origin = origins.origin(of: complete(facts))
            switch RestoredMessages.reading(of: message, envelopes) {
            case .success(let (envelope, payload)):
                message.original.withUnsafeBytes { original in
                    batch.append(
                        original,
                        token: token,
                        origin: origin,
                        receivedAt: message.receivedAt,
                        deadline: message.deadline(at: now),
                        envelope: envelope,
                        payload: payload
                    )
                }
            case .failure(let error):
                batch.append(unreadable: message, token: token, because: error.detail, origin: origin)
            }
        }
        return batch.take(keepingIDsOf: messages)
    }

    private struct Unreadable: Error {
        let detail: String
    }

    /// Returns how a message is read now.
    private static func reading(
        of message: StoredMessage,
        _ envelopes: FrameEnvelopes
    ) -> Result<(Envelope, PayloadKind), Unreadable> {
        // Peers cannot send these actions, so the source itself has submitted them.
        if message.envelope == .handler, let action = message.action, action.isChatAnnouncement {
            return .success((.handler(action), .json))
        }
        guard message.envelope != .none else { return .failure(Unreadable(detail: StoredMessage.wasUnreadable)) }
        // The kind of the frame is not stored, but a binary message is always read as bytes.
        guard message.envelope == .route, message.payload == .bytes, envelopes.textPayload != .bytes else {
            return .success((envelopes.text, envelopes.textPayload))
        }
        guard let binary = envelopes.binary else {
            return .failure(Unreadable(detail: FrameEnvelopes.binaryError.detail))
        }
        return .success((binary, .bytes))
    }
}

extension ActionName {
    fileprivate var isChatAnnouncement: Bool { self == .chatConnected || self == .chatClosed }
}
