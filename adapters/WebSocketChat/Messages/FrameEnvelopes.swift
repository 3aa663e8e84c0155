import SignalboxCore

/// How messages of either kind are read, worked out once for all of them.
struct FrameEnvelopes {
    /// A text message, unless it is a batch.
    let text: Envelope
    let textPayload: PayloadKind
    /// Whether a text message that is an array is a batch of messages.
    let textMayBeBatch: Bool
    /// `nil` where binary messages are refused.
    let binary: Envelope?

    init(_ frames: WebSocketFrames) {
        switch frames.text {
        case .envelope(let envelope):
            text = .payload(envelope)
            textPayload = .json
            textMayBeBatch = true
        case .action(let action, let payload):
            text = .route(RouteNaming(action: action))
            textPayload = payload
            textMayBeBatch = false
        }
        binary = frames.binary.map { .route(RouteNaming(action: $0)) }
    }
}
