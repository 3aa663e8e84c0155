import SignalboxCore

/// What a source remembers about the id of an arrival.
enum RepeatAnswer: Sendable, Equatable {
    /// Nothing that counts: it is to run.
    case first
    /// The same message is running; the arrival is kept, to be settled with it.
    case follows
    /// The same message was handled, with this reply.
    case again(reply: Bytes?)
    /// The id is another message's.
    case conflict
}
