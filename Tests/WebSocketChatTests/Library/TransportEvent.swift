@testable import WebSocketChat

/// What a receiver of the tests was told.
enum TransportEvent: Equatable, Sendable {
    case opened(ConnectionID, Handshake)
    case message(ConnectionID, [UInt8], isBinary: Bool)
    case ponged(ConnectionID)
    case drained(ConnectionID)
    case closed(ConnectionID, ConnectionEnd)
    /// Pieces of so many bytes came in the pass that ended.
    case passEnded(bytes: Int)
    case ticked
    case refused(status: Int, from: String)
    case pieces(longest: Int, all: Int)
}
