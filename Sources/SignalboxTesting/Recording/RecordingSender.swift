public import SignalboxCore

/// A way outward that leads nowhere: it records what it is given, and lets a test wait for it. Any thread.
///
/// Bounded: what comes when it holds ``limit`` actions is refused as `full`.
public final class RecordingSender: Sender {
    private struct State: Sendable {
        var sent: [SentAction] = []
        var isClosed = false
    }

    private let state = Watched(State())
    /// The most actions it holds.
    public let limit: Int

    /// - Parameter limit: the most actions it holds, at least 0; 1,000 by default.
    public init(limit: Int = 1_000) {
        precondition(limit >= 0, "a recording sender holds at least 0 actions")
        self.limit = limit
    }

    /// What was sent, in order.
    public var sent: [SentAction] { state.value.sent }

    /// Records the action.
    ///
    /// - Throws: `full` when it holds ``limit`` actions, `closed` after ``close()``.
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

    /// Refuses everything from now on, as when the other side is gone; what was sent stays readable.
    public func close() {
        state.change { $0.isClosed = true }
    }

    /// Waits until `count` actions were sent, and returns all; returns what there is when the task is cancelled.
    ///
    /// - Parameters:
    ///   - count: the number of actions to wait for.
    ///   - file: the file in which the wait is said to stand when a test run is cut; the caller's by default.
    ///   - line: its line there.
    @discardableResult
    public func untilSent(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async -> [SentAction] {
        await state.until(file: file, line: line) { $0.sent.count >= count }
        return sent
    }
}

/// An action that the program handed to a ``RecordingSender``.
public struct SentAction: Sendable, Hashable {
    /// The name the other side routes by.
    public let action: ActionName
    /// The id an answer would carry, or `nil` when none is expected.
    public let id: ActionID?
    /// The body as JSON.
    public let body: Bytes

    /// What was, or should have been, sent.
    public init(action: ActionName, id: ActionID? = nil, body: Bytes) {
        self.action = action
        self.id = id
        self.body = body
    }

    /// The body as a value.
    ///
    /// - Throws: what is wrong with it and where, with a path that begins with `body`.
    public func decode<Value: Decodable>(_ type: Value.Type) throws(BodyError) -> Value {
        try Body(json: body).decode(type)
    }
}
