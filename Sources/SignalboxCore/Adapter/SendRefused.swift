/// Why a ``Sender`` did not take an action for sending.
public enum SendRefused: Error, Sendable, Hashable {
    /// The connection or page is gone.
    case closed
    /// The queue outward is at its limit.
    case full
}
