/// The way outward to whoever sent an arrival. Never blocks; bounded; safe on any thread.
public protocol Sender: Sendable {
    /// Hands an action over for sending.
    ///
    /// - Parameters:
    ///   - action: the name the other side routes by.
    ///   - id: the id an answer will carry, or `nil` when none is expected.
    ///   - body: the body as JSON.
    /// - Throws: ``SendRefused`` when it will not be sent: the other side is gone, or the queue is full.
    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused)
}
