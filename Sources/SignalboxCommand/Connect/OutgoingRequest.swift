/// What `connect` sends.
struct OutgoingRequest: Sendable, Hashable {
    /// Sent once, before the lines of stdin.
    var messages: [String] = []
    /// Whether the lines of stdin are sent.
    var readsInput = true
    /// Whether the connection is closed after the last line.
    var closesAfterInput = false
    /// Whether messages are binary ones.
    var isBinary = false
}
