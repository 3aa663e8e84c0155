public import SignalboxCore

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
