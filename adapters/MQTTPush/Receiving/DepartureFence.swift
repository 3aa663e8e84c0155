import AdapterSupport

/// Finds the moment from which a broker has no more messages for a client that has ended its shared subscriptions.
///
/// After the UNSUBACK, the broker still delivers the messages that it had assigned to the client (MQTT 5.0, 3.10.4). It
/// sends the next ones when earlier ones are acknowledged. An UNSUBSCRIBE that follows all acknowledgements is a fence:
/// the broker handles the packets of a connection in order, so its answer follows the messages for which these
/// acknowledgements made room. If none came before the answer, none is left.
///
/// A broker may hand queued messages from one of its threads to another, so that the answer overtakes them. For this
/// reason, a second fence must find the same after ``quietTime``.
struct DepartureFence {
    /// The time without a message between two fences.
    static let quietTime = Duration.milliseconds(200)

    /// What the connection does next.
    enum Step: Equatable {
        case wait
        /// Send an UNSUBSCRIBE, and call ``sent()``, or ``postponed()`` if there is no room for it.
        case send
        /// The broker has nothing more for the client.
        case finish
    }

    private enum State: Equatable {
        /// Messages are in progress, or may be.
        case busy
        /// The broker has not answered the fence yet.
        case sent(isSecond: Bool)
        /// The first fence found nothing.
        case quiet(until: ContinuousClock.Instant)
        case finished
    }

    private var state = State.busy
    /// The number of messages that had arrived when the state began.
    private var mark = 0

    /// When the connection must take a turn although nothing happens, or `nil`.
    var nextTurn: ContinuousClock.Instant? {
        if case .quiet(let end) = state { return end }
        return nil
    }

    /// Returns what to do next.
    ///
    /// - Parameters:
    ///   - isIdle: Whether the acknowledgements of all messages are in the output.
    ///   - messages: The number of messages of groups that have arrived on this connection.
    mutating func next(isIdle: Bool, messages: Int, at now: ContinuousClock.Instant) -> Step {
        switch state {
        case .sent: return .wait
        case .quiet where messages != mark: state = .busy
        case .quiet(let end) where now < end: return .wait
        // What settles the message takes the next turn.
        case .quiet where !isIdle: state = .busy
        case .busy, .quiet: break
        case .finished: return .wait
        }
        guard isIdle else { return .wait }
        mark = messages
        return .send
    }

    /// Takes note that the output has no room for the fence. The next turn asks for it again.
    mutating func postponed() { state = .busy }

    /// Takes note that the fence which ``next(isIdle:messages:at:)`` asked for is in the output.
    mutating func sent() {
        if case .quiet = state { state = .sent(isSecond: true) } else { state = .sent(isSecond: false) }
    }

    /// Takes the broker's answer to the fence, when the messages before it have arrived.
    ///
    /// - Returns: `finish` if the broker has nothing more, otherwise `wait`.
    mutating func answered(messages: Int, at now: ContinuousClock.Instant) -> Step {
        guard case .sent(let isSecond) = state else { return .wait }
        guard messages == mark else {
            state = .busy
            return .wait
        }
        state = isSecond ? .finished : .quiet(until: now + DepartureFence.quietTime)
        return isSecond ? .finish : .wait
    }
}
