/// An error of a plugin that says whether the same call may succeed later, and what happens to the action if it does not.
///
/// Errors of other types are final: the plugin is not called again, and the message becomes a dead letter.
public protocol RetryableError: Error {
    /// Whether the same call may succeed later, as after a connection that was refused.
    var isRetryable: Bool { get }
    /// What happens to the action once no attempt is left.
    var whenExhausted: RetryExhaustion { get }
}

extension RetryableError {
    /// `true`.
    public var isRetryable: Bool { true }
    /// `deadLetter`.
    public var whenExhausted: RetryExhaustion { .deadLetter }
}

/// What happens to an action after its last failed attempt.
public struct RetryExhaustion: Sendable, Hashable, CustomStringConvertible {
    private enum Choice: String { case deadLetter, abandon }
    private let choice: Choice

    /// The action fails: its message is kept as a dead letter and acknowledged.
    public static let deadLetter = RetryExhaustion(choice: .deadLetter)
    /// The action is abandoned: its message is not acknowledged, and the source sends it again after a pause. For faults that have
    /// nothing to do with the message, such as a full disk. If the source cannot send it again, the message becomes a dead letter.
    public static let abandon = RetryExhaustion(choice: .abandon)

    /// `deadLetter` or `abandon`.
    public var description: String { choice.rawValue }
}
