import Synchronization

/// Keeps the first of several values, such as the failure after which nothing more is written. Any thread.
final class FirstValue<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    /// The first recorded value.
    var value: Value? { stored.withLock { $0 } }

    /// Records the value unless there is an earlier one.
    ///
    /// - Returns: Whether the value is the first.
    @discardableResult
    func record(_ value: Value) -> Bool {
        stored.withLock { stored in
            guard stored == nil else { return false }
            stored = value
            return true
        }
    }
}
