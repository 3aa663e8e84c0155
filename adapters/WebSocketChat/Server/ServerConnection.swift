import SignalboxCore

/// An open connection of a server. Belongs to the service's thread.
final class ServerConnection {
    let read: ReadConnection
    let facts: ChatFacts
    /// We have asked for its end.
    var isEnding = false
    /// Whole messages that came.
    private(set) var messages = 0
    private var messagesSeen = 0
    private var quietSince: ContinuousClock.Instant
    private var unfinishedSince: ContinuousClock.Instant?

    init(_ read: ReadConnection, facts: ChatFacts, at now: ContinuousClock.Instant = .now) {
        self.read = read
        self.facts = facts
        quietSince = now
    }

    var id: ConnectionID { read.id }

    /// After each piece.
    func heard() {
        if !read.assembler.isUnderWay { messages += 1 }
    }

    /// Looks at the time, so that hearing a message need not.
    ///
    /// - Returns: for how long there has been no message, and for how long the one under way has been; neither while the
    ///   connection is not read. Never more than the truth, and less by up to the time between two looks.
    func look(at now: ContinuousClock.Instant) -> (quiet: Duration, unfinished: Duration) {
        let isMoving = messages != messagesSeen || read.flow.isPaused
        messagesSeen = messages
        if isMoving { quietSince = now }
        if !read.assembler.isUnderWay {
            unfinishedSince = nil
        } else if unfinishedSince == nil || isMoving {
            unfinishedSince = now
        }
        return (now - quietSince, unfinishedSince.map { now - $0 } ?? .zero)
    }
}
