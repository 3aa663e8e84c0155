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
