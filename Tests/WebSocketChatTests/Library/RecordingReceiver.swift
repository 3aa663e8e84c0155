@testable import WebSocketChat

/// Puts messages together, does as it is told, and tells a test what happened.
final class RecordingReceiver: ServerFrameReceiver {
    struct Manners: Sendable {
        var echoes = false
        var limit = 64 << 20
        var refusesBinary = false
        /// Pauses a connection with the piece that reaches this many bytes in all.
        var pausesAt = Int.max
        var tellsDrained = false
        var tellsPasses = false
        var tellsTicks = false
        /// Tells with each end how long the longest piece was, and how much came in all.
        var tellsPieces = false
        var decide: @Sendable (UpgradeRequest) -> UpgradeDecision = { _ in .accept }
    }

    private let manners: Manners
    private let sender: any FrameSender
    private let told: AsyncStream<TransportEvent>.Continuation
    private var messages: [ConnectionID: [UInt8]] = [:]
    private var bytes = 0
    private var passBytes = 0
    private var longestPiece = 0

    init(_ manners: Manners, sender: any FrameSender, told: AsyncStream<TransportEvent>.Continuation) {
        self.manners = manners
        self.sender = sender
        self.told = told
    }

    func decide(_ request: UpgradeRequest, for connection: ConnectionID) -> UpgradeDecision {
        manners.decide(request)
    }

    func opened(_ connection: ConnectionID, _ handshake: Handshake) {
        told.yield(.opened(connection, handshake))
    }

    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict {
        if piece.isBinary && manners.refusesBinary { return .close(.unacceptableData, reason: "text only") }
        precondition(piece.isFirst == (messages[connection] == nil))
        messages[connection, default: []].append(contentsOf: piece.bytes)
        passBytes += piece.bytes.count
        longestPiece = max(longestPiece, piece.bytes.count)
        if messages[connection, default: []].count > manners.limit {
            bytes += piece.bytes.count
            return .close(.messageTooBig, reason: "too long")
        }
        if piece.isFinal, let message = messages.removeValue(forKey: connection) {
            if manners.echoes { precondition(sender.send(message, .text, on: connection) == .accepted) }
            told.yield(.message(connection, message, isBinary: piece.isBinary))
        }
        let before = bytes
        bytes += piece.bytes.count
        return before < manners.pausesAt && bytes >= manners.pausesAt ? .pause : .proceed
    }

    func ponged(_ connection: ConnectionID) {
        told.yield(.ponged(connection))
    }

    func drained(_ connection: ConnectionID) {
        if manners.tellsDrained { told.yield(.drained(connection)) }
    }

    func closed(_ connection: ConnectionID, _ end: ConnectionEnd) {
        if manners.tellsPieces { told.yield(.pieces(longest: longestPiece, all: bytes)) }
        told.yield(.closed(connection, end))
    }

    func refused(status: Int, from address: String) {
        told.yield(.refused(status: status, from: address))
    }

    func ticked() {
        if manners.tellsTicks { told.yield(.ticked) }
    }

    func passEnded() {
        if manners.tellsPasses { told.yield(.passEnded(bytes: passBytes)) }
        passBytes = 0
    }
}
