#if WebSocket
import SignalboxCore

/// Turns the frames of one connection into message pieces.
///
/// The decoder inflates the content, and checks that text is UTF-8 and that the reserved bits are valid. Only the
/// service's thread uses it.
final class FrameDecoder {
    enum Outcome: Equatable {
        case proceed
        case pause
        /// The receiver wants to close the connection.
        case close(CloseCode, reason: String)
        /// The peer violated the protocol.
        case broken(CloseCode, reason: String)
    }

    private struct Held {
        let bytes: [UInt8]
        let isFinal: Bool
        let isBinary: Bool
    }

    /// The inflater, or `nil` if messages are not compressed.
    private let inflater: MessageInflater?
    private var isMidFrame = false
    private var isMidMessage = false
    private var isCompressed = false
    /// Whether a piece of the current message has been delivered.
    private var hasBegun = false
    private var text = UTF8Stream()
    /// Input that was not inflated before a pause. It is never longer than one read.
    private var held: Held?

    init(_ agreement: DeflateAgreement?) {
        inflater = agreement.map { MessageInflater(contextTakeover: $0.incomingContextTakeover) }
    }

    /// Processes received bytes. Must not be called between a pause and ``resume(_:)``.
    func decode(_ chunk: FrameChunk, _ deliver: (MessagePiece) -> PieceVerdict) -> Outcome {
        if !isMidFrame, let reason = beginFrame(chunk.reserved) { return .broken(.protocolError, reason: reason) }
        isMidFrame = !chunk.endsFrame
        isMidMessage = !chunk.isFinal
        if isCompressed { return inflate(chunk.bytes, isFinal: chunk.isFinal, isBinary: chunk.isBinary, deliver) }
        return pass(chunk.bytes, isFinal: chunk.isFinal, isBinary: chunk.isBinary, deliver)
    }

    /// Processes the input that was held back by a pause.
    func resume(_ deliver: (MessagePiece) -> PieceVerdict) -> Outcome {
        guard let rest = held else { return .proceed }
        held = nil
        return rest.bytes.withUnsafeBytes { inflate($0, isFinal: rest.isFinal, isBinary: rest.isBinary, deliver) }
    }

    /// Discards the input that was held back.
    func discardHeld() {
        held = nil
    }

    // Only the first frame of a message has the compression bit (RFC 7692, 6).
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
        _ deliver: (MessagePiece) -> PieceVerdict
    ) -> Outcome {
        guard let inflater else { return .proceed }
        var outcome = Outcome.proceed
        let progress = inflater.inflate(input, endsMessage: isFinal) { bytes, isLast in
            outcome = pass(bytes, isFinal: isLast, isBinary: isBinary, deliver)
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
        _ deliver: (MessagePiece) -> PieceVerdict
    ) -> Outcome {
        if !isBinary {
            guard text.take(bytes), !isFinal || text.isComplete else {
                return .broken(.invalidPayload, reason: "bad utf8")
            }
        }
        let piece = MessagePiece(bytes: bytes, isFirst: !hasBegun, isFinal: isFinal, isBinary: isBinary)
        hasBegun = !isFinal
        switch deliver(piece) {
        case .proceed: return .proceed
        case .pause: return .pause
        case .close(let code, let reason): return .close(code, reason: reason)
        }
    }
}

/// The content of a frame, or a part of it, as it arrives.
struct FrameChunk {
    /// The content, which may be empty. Valid only during the call that delivers it.
    let bytes: UnsafeRawBufferPointer
    /// Whether this is the last chunk of the message.
    let isFinal: Bool
    let isBinary: Bool
    /// Whether this is the last chunk of the frame.
    let endsFrame: Bool
    /// The bits RSV1 to RSV3 of the frame, at their positions in its first byte.
    let reserved: UInt8

    static let compressedBit: UInt8 = 0x40
}
#endif
