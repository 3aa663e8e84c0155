public import SignalboxCore

/// A sender that records actions instead of sending them, so that a test can wait for them and read them. Safe to use
/// from any thread.
///
/// Once the sender holds ``limit`` actions, it refuses further actions with the error `full`.
public final class RecordingSender: Sender {
    private struct State: Sendable {
        var sent: [SentAction] = []
        var isClosed = false
    }

    private let state = Watched(State())
    /// The maximum number of actions that are recorded.
    public let limit: Int

    /// Creates a sender.
    ///
    /// - Parameter limit: The maximum number of actions that are recorded, at least 0. The default is 1,000.
    public init(limit: Int = 1_000) {
        precondition(limit >= 0, "a recording sender holds at least 0 actions")
        self.limit = limit
    }

    /// The recorded actions, in order.
    public var sent: [SentAction] { state.value.sent }

    /// Records an action.
    ///
    /// - Throws: `full` if ``limit`` actions have been recorded, or `closed` after ``close()``.
    public func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        let one = SentAction(action: action.copied(), id: id?.copied(), body: body.copied())
        let refusal = state.change { [limit] state -> SendRefused? in
            if state.isClosed { return .closed }
            guard state.sent.count < limit else { return .full }
            state.sent.append(one)
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Makes the sender refuse all further actions, as if the other side had gone away. You can still read the recorded
    /// actions.
    public func close() {
        state.change { $0.isClosed = true }
    }

    /// Waits until `count` actions have been recorded, and returns all recorded actions. If the task is cancelled, this
    /// method returns the actions recorded so far.
    ///
    /// - Parameters:
    ///   - count: The number of actions to wait for.
    ///   - file: The file to report for this wait if the test run hangs. The default is the caller's file.
    ///   - line: The line to report with `file`.
    @discardableResult
    public func untilSent(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async -> [SentAction] {
        await state.until(file: file, line: line) { $0.sent.count >= count }
        return sent
    }
}

/// An action that was sent through a ``RecordingSender``.
public struct SentAction: Sendable, Hashable {
    /// The name by which the other side routes the action.
    public let action: ActionName
    /// The id that an answer refers to, or `nil` if no answer is expected.
    public let id: ActionID?
    /// The body as JSON.
    public let body: Bytes

    /// Creates an action, for example to compare it with a recorded action.
    public init(action: ActionName, id: ActionID? = nil, body: Bytes) {
        self.action = action
        self.id = id
        self.body = body
    }

    /// Decodes the body.
    ///
    /// - Throws: The fault and its location, which is a path that begins with `body`.
    public func decode<Value: Decodable>(_ type: Value.Type) throws(BodyError) -> Value {
        try Body(json: body).decode(type)
    }
}
