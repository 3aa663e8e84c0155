/// Makes pieces of messages of one connection's frames: inflates them, looks at their UTF-8, and at the bits that compression uses.
/// Belongs to the service's thread.
final class MessageReading {
    enum Outcome: Equatable {
        case proceed
        case pause
        /// The receiver wants it closed.
        case close(CloseCode, reason: String)
        /// What came is against the rules.
        case broken(CloseCode, reason: String)
    }

    private struct Held {
        let bytes: [UInt8]
        let isFinal: Bool
        let isBinary: Bool
    }

    /// `nil` where messages are not compressed.
    private let inflater: MessageInflater?
    private var isMidFrame = false
    private var isMidMessage = false
    private var isCompressed = false
    /// Whether a piece of the message has been given.
    private var hasBegun = false
    private var text = UTF8Stream()
    /// What was not inflated before the pause: no more than is read at once.
    private var held: Held?

    init(_ agreement: DeflateAgreement?) {
        inflater = agreement.map { MessageInflater(keepsContext: $0.incomingKeepsContext) }
    }

    /// Takes what came. Not to be called between a pause and ``goOn(_:)``.
    func take(_ chunk: FrameChunk, _ give: (MessagePiece) -> PieceVerdict) -> Outcome {
        if !isMidFrame, let words = beginFrame(chunk.reserved) { return .broken(.protocolError, reason: words) }
        isMidFrame = !chunk.endsFrame
        isMidMessage = !chunk.isFinal
        if isCompressed { return inflate(chunk.bytes, isFinal: chunk.isFinal, isBinary: chunk.isBinary, give) }
        return pass(chunk.bytes, isFinal: chunk.isFinal, isBinary: chunk.isBinary, give)
    }

    /// Goes on with what is left from before a pause.
    func goOn(_ give: (MessagePiece) -> PieceVerdict) -> Outcome {
        guard let rest = held else { return .proceed }
        held = nil
        return rest.bytes.withUnsafeBytes { inflate($0, isFinal: rest.isFinal, isBinary: rest.isBinary, give) }
    }

    /// Forgets what is left, as nothing more is wanted.
    func drop() {
        held = nil
    }

    // Only a message's first frame says that it is compressed (RFC 7692, 6).
    private func beginFrame(_ reserved: UInt8) -> String? {
        if isMidMessage { return reserved == 0 ? nil : "reserved bits" }
        guard reserved == 0 || (reserved == FrameChunk.compressedBit && inflater != nil) else { return "reserved bits" }
        isCompressed = reserved != 0
        return nil
    }

    private func inflate(
        _ input: UnsafeRawBufferPointer,
        isFinal: Bool,
        isBinary: Bool,
        _ give: (MessagePiece) -> PieceVerdict
    ) -> Outcome {
        guard let inflater else { return .proceed }
        var outcome = Outcome.proceed
        let progress = inflater.inflate(input, endsMessage: isFinal) { bytes, isLast in
            outcome = pass(bytes, isFinal: isLast, isBinary: isBinary, give)
            return outcome == .proceed
        }
        switch progress {
        case .done: return outcome
        case .stopped(let used):
            if outcome == .pause { held = Held(bytes: Array(input[used...]), isFinal: isFinal, isBinary: isBinary) }
            return outcome
        case .broken: return .broken(.invalidPayload, reason: "bad compression")
        }
    }

    private func pass(
        _ bytes: UnsafeRawBufferPointer,
        isFinal: Bool,
        isBinary: Bool,
        _ give: (MessagePiece) -> PieceVerdict
    ) -> Outcome {
        if !isBinary {
            guard text.take(bytes), !isFinal || text.isComplete else {
                return .broken(.invalidPayload, reason: "bad utf8")
            }
        }
        let piece = MessagePiece(bytes: bytes, isFirst: !hasBegun, isFinal: isFinal, isBinary: isBinary)
        hasBegun = !isFinal
        switch give(piece) {
        case .proceed: return .proceed
        case .pause: return .pause
        case .close(let code, let reason): return .close(code, reason: reason)
        }
    }
}

/// What the library hands over at once: a frame's content or a part of it.
struct FrameChunk {
    /// Valid during the call that brings it; may be empty.
    let bytes: UnsafeRawBufferPointer
    /// Whether the message ends with it.
    let isFinal: Bool
    let isBinary: Bool
    /// Whether the frame ends with it.
    let endsFrame: Bool
    /// The bits RSV1 to RSV3 of the frame, as they are in its first byte.
    let reserved: UInt8

    static let compressedBit: UInt8 = 0x40
}
