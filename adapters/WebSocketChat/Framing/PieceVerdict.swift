/// What becomes of a connection after a piece of a message.
enum PieceVerdict: Equatable {
    /// Read on.
    case proceed
    /// Read no more from this connection until a command `resume`. Not one more piece comes.
    case pause
    /// Close the connection, what waits to be sent included. Not one more piece comes.
    case close(CloseCode, reason: String)
}
