/// What became of a message to be sent.
enum SendAdmission: Equatable, Sendable {
    /// It will be sent in its turn, unless the connection ends before.
    case accepted
    /// The connection's waiting bytes have reached their limit: the message was not taken.
    case full
    /// All connections together have reached the limit: the message was not taken. On this one most bytes wait.
    case crowded(slowest: ConnectionID)
    /// The connection is not open.
    case gone
}
