/// An error of a plugin that says whether the same call may succeed later.
///
/// Errors of other types are final: nothing is called again unless the plugin says so.
public protocol RetryableError: Error {
    /// Whether the same call may succeed later, as after a connection that was refused.
    var isRetryable: Bool { get }
}

extension RetryableError {
    /// `true`.
    public var isRetryable: Bool { true }
}
