/// A bounded channel to the sender of an arrival.
///
/// Use it to send actions that are not replies, for example when the state of the program changes. A plugin gets the
/// channel from ``ActionContext/sender``. The methods never block and are safe to call from any thread.
public protocol Sender: Sendable {
    /// Adds an action to the queue of messages to send.
    ///
    /// - Parameters:
    ///   - action: The name by which the receiver routes the action.
    ///   - id: The id that a reply will have, or `nil` when no reply is expected.
    ///   - body: The body as JSON.
    /// - Throws: ``SendRefused`` when the action cannot be sent, for example because the receiver is gone or the queue
    ///   is full.
    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused)
}

extension Sender {
    /// Encodes a body as JSON and adds the action to the queue of messages to send. No reply is expected.
    ///
    /// - Throws: ``SendRefused`` when the action cannot be sent, or ``BodyError`` when the value cannot be represented
    ///   in JSON.
    public func send(_ action: ActionName, _ body: some Encodable) throws {
        try send(action, id: nil, body: BodyWriter.write(body))
    }
}

/// The reason why a ``Sender`` refused an action. Later versions may add more.
public struct SendRefused: Error, Sendable, Hashable, CustomStringConvertible {
    /// The connection or page is gone.
    public static let closed = SendRefused(description: "closed")
    /// The queue of messages to send is full.
    public static let full = SendRefused(description: "full")
    /// The message is larger than the receiver accepts.
    public static let tooLarge = SendRefused(description: "tooLarge")

    /// The body is not UTF-8 and therefore not JSON.
    public static let invalid = SendRefused(description: "invalid")

    /// The reason's name in logs: `closed`, `full`, `tooLarge` or `invalid`.
    public let description: String
}
