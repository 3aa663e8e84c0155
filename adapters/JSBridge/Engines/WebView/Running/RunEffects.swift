/// What a change of a ``RunState`` asks for, to be done without its lock.
struct RunEffects: Sendable {
    typealias Reply = @Sendable (RawAnswer) -> Void

    /// The surface is to ask for scripts.
    var wakes = false
    /// The surface is to end.
    var endsSurface = false
    /// A document is gone, and owes answers for ever.
    var losesDocument = false
    /// The raw calls that settle.
    var answers: [(reply: Reply, answer: RawAnswer)] = []
    /// Whom the next event goes to.
    var event: (waiter: CheckedContinuation<RunState.Event, Never>, event: RunState.Event)?
}
