/// A bounded channel to the sender of an arrival. Never blocks; thread-safe.
public protocol Sender: Sendable {
    /// Enqueues an action for sending.
    ///
    /// - Parameters:
    ///   - action: The name by which the receiver routes the action.
    ///   - id: The id that a reply will carry, or `nil` when no reply is expected.
    ///   - body: The body as JSON.
    /// - Throws: ``SendRefused`` when the action cannot be sent: the receiver is gone, or the queue is full.
    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused)
}

extension Sender {
    /// Enqueues an action for sending with a body encoded as JSON. No reply is expected.
    ///
    /// - Throws: ``SendRefused`` when the action cannot be sent; ``BodyError`` when the value has no JSON form.
    public func send(_ action: ActionName, _ body: some Encodable) throws {
        try send(action, id: nil, body: BodyWriter.write(body))
    }
}

/// The reason why a ``Sender`` refused an action. Later versions may add more.
public struct SendRefused: Error, Sendable, Hashable, CustomStringConvertible {
    /// The connection or page is gone.
    public static let closed = SendRefused(description: "closed")
    /// The outbound queue is full.
    public static let full = SendRefused(description: "full")
    /// The message is larger than the receiver accepts.
    public static let tooLarge = SendRefused(description: "tooLarge")

    /// The body is not UTF-8 and therefore not JSON.
    public static let invalid = SendRefused(description: "invalid")

    /// The reason's name in logs: `closed`, `full`, `tooLarge` or `invalid`.
    public let description: String
}
