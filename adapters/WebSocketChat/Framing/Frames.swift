/// A part of a received message. Pieces arrive in order, and each message ends before the next one starts.
struct MessagePiece {
    /// The content, which may be empty. Valid only during the call that delivers it.
    let bytes: UnsafeRawBufferPointer
    /// Whether the piece starts a message.
    let isFirst: Bool
    /// Whether the piece ends the message. A piece that both starts and ends a message is the whole message.
    let isFinal: Bool
    /// Whether the message is binary. If not, it is text that has been checked to be UTF-8.
    let isBinary: Bool
}

/// What to do with a connection after a piece of a message.
enum PieceVerdict: Equatable {
    /// Continue reading.
    case proceed
    /// Stop reading from this connection until a `resume` command. No more pieces are delivered until then.
    case pause
    /// Close the connection and discard its pending data. No more pieces are delivered.
    case close(CloseCode, reason: String)
}

/// The type of an outgoing message (RFC 6455, 5.6).
enum MessageKind: Equatable, Sendable {
    /// The message is text. Bytes that are not UTF-8 would end the connection.
    case text
    case binary
}

/// A command for a connection, which has no effect if the connection has ended.
enum FrameCommand: Equatable, Sendable {
    /// Sends a ping. The answer is reported to the receiver's `ponged`.
    case ping
    /// Closes the connection after all earlier messages have been sent. The code must be sendable, and a reason that is
    /// too long is truncated.
    case close(CloseCode, reason: String)
    /// Closes the connection immediately, discards pending data and refuses further messages.
    ///
    /// A peer that does not read may never receive the code. In that case, the connection ends after
    /// ``TransportLimits/connectWithin`` or 5 seconds, whichever is shorter.
    case cut(CloseCode, reason: String)
    /// Stops reading until a `resume` command.
    case pause
    /// Resumes reading. No data is lost.
    case resume
}

/// The status code of a close frame (RFC 6455, 7.4).
struct CloseCode: Hashable, Sendable {
    let number: UInt16

    static let normal = CloseCode(number: 1000)
    static let goingAway = CloseCode(number: 1001)
    static let protocolError = CloseCode(number: 1002)
    static let unacceptableData = CloseCode(number: 1003)
    /// Stands for a peer's close frame that had no code. This code is never sent.
    static let absent = CloseCode(number: 1005)
    static let invalidPayload = CloseCode(number: 1007)
    static let policyViolation = CloseCode(number: 1008)
    static let messageTooBig = CloseCode(number: 1009)
    static let internalError = CloseCode(number: 1011)
    static let tryAgainLater = CloseCode(number: 1013)

    /// Whether a close frame can contain the code (RFC 6455, 7.4.1 and 7.4.2, and IANA's registry).
    var isSendable: Bool {
        switch number {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// The maximum length of a reason, in bytes. The reason shares a control frame with the code (RFC 6455, 5.5).
    static let reasonLimit = 123
}
