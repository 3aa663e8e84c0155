import SignalboxCore

/// Throws at each call: for trying what becomes of failures.
struct FailPlugin: SyncPlugin {
    /// What it throws.
    struct Fault: RetryableError, CustomStringConvertible {
        let isRetryable: Bool
        let description = "the plugin 'fail' always fails"
    }

    let action: ActionName
    /// Whether it says that another call may succeed.
    let isRetryable: Bool

    func callAsAction(_ info: RawBody, context: ActionContext) throws {
        throw Fault(isRetryable: isRetryable)
    }
}
