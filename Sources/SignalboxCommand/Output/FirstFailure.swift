import Synchronization

/// The failure after which nothing more is written, once there is one.
final class FirstFailure: Sendable {
    private let stored = Mutex<OutputFailure?>(nil)

    /// The first failure that was noted.
    var value: OutputFailure? { stored.withLock { $0 } }

    /// Keeps the failure unless there is an earlier one.
    func note(_ failure: OutputFailure) {
        stored.withLock { if $0 == nil { $0 = failure } }
    }
}
