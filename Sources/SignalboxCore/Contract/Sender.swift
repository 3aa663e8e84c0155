/// A bounded channel to the sender of an arrival.
///
/// Use this channel to send actions that are not replies, for example when the program's state changes. A plugin finds
/// it in ``ActionContext/sender``. The methods never block and are safe to call from any thread.
public protocol Sender: Sendable {
    /// Adds an action to the send queue.
    ///
    /// - Parameters:
    ///   - action: The name that the receiver uses to route the action.
    ///   - id: The id that the reply will carry, or `nil` if no reply is expected.
    ///   - body: The body as JSON.
    /// - Throws: ``SendRefused`` if the action cannot be sent, for example because the receiver is gone or the queue is
    ///   full.
    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused)
}

extension Sender {
    /// Encodes a body as JSON and adds the action to the send queue. No reply is expected.
    ///
    /// - Throws: ``SendRefused`` if the action cannot be sent, or ``BodyError`` if the value cannot be represented in
    ///   JSON.
    public func send(_ action: ActionName, _ body: some Encodable) throws {
        try send(action, id: nil, body: BodyWriter.write(body))
    }
}

/// The reason why a ``Sender`` refused an action. Later versions may add more.
public struct SendRefused: Error, Sendable, Hashable, CustomStringConvertible {
    /// The connection or page is gone.
    public static let closed = SendRefused(description: "closed")
    /// The send queue is full.
    public static let full = SendRefused(description: "full")
    /// The message is larger than the receiver accepts.
    public static let tooLarge = SendRefused(description: "tooLarge")

    /// The body is not UTF-8 and therefore not JSON.
    public static let invalid = SendRefused(description: "invalid")

    /// The reason's name in logs: `closed`, `full`, `tooLarge` or `invalid`.
    public let description: String
}
