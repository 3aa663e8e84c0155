/// A part of a message as it was read: pieces of one connection come in order, and one message ends before the next begins.
struct MessagePiece {
    /// Valid during the call that brings it; may be empty.
    let bytes: UnsafeRawBufferPointer
    /// Whether a message begins with it.
    let isFirst: Bool
    /// Whether the message ends with it. A piece that is first and final is a whole message.
    let isFinal: Bool
    /// Whether the sender declared the message binary; otherwise it is text, whose UTF-8 is checked.
    let isBinary: Bool
}
