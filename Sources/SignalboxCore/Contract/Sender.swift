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

extension Sender {
    /// Hands an action over for sending, its body written as JSON; no answer is expected.
    ///
    /// - Throws: ``SendRefused`` when it will not be sent, ``BodyError`` when the value has no JSON form.
    public func send(_ action: ActionName, _ body: some Encodable) throws {
        try send(action, id: nil, body: BodyWriter.write(body))
    }
}

/// Why a ``Sender`` did not take an action for sending. The kinds; more may be added.
public struct SendRefused: Error, Sendable, Hashable, CustomStringConvertible {
    private enum Code: String { case closed, full, tooLarge, invalid }
    private let code: Code

    /// The connection or page is gone.
    public static let closed = SendRefused(code: .closed)
    /// The queue outward is at its limit.
    public static let full = SendRefused(code: .full)
    /// The message is larger than the other side takes.
    public static let tooLarge = SendRefused(code: .tooLarge)

    /// The body is not UTF-8, so it is no JSON.
    public static let invalid = SendRefused(code: .invalid)

    /// The word used in logs: `closed`, `full`, `tooLarge` or `invalid`.
    public var description: String { code.rawValue }
}
