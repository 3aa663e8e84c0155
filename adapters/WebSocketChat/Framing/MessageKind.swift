/// What a message to be sent is declared as (RFC 6455, 5.6).
enum MessageKind: Equatable, Sendable {
    /// UTF-8; anything else would break the connection.
    case text
    case binary
}
