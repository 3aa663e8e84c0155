import SignalboxCore

/// Why an action's body was not published.
struct PublishFailure: RetryableError, CustomStringConvertible {
    /// What is wrong, and of which topic.
    let reason: String
    /// Whether another attempt may succeed.
    let isRetryable: Bool
    /// `abandon` if the message may be published later.
    var whenExhausted = RetryExhaustion.deadLetter

    /// The reason.
    var description: String { reason }
}
