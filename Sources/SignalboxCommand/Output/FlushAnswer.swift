import Synchronization

/// Whether a flush came to its end, told to whoever waits for it by the first of two that know.
final class FlushAnswer: Sendable {
    private let waiting: Mutex<CheckedContinuation<Bool, Never>?>

    /// - Parameter continuation: resumed once.
    init(_ continuation: CheckedContinuation<Bool, Never>) {
        waiting = Mutex(continuation)
    }

    /// The first answer counts; others are ignored.
    func give(_ isComplete: Bool) {
        let continuation = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        continuation?.resume(returning: isComplete)
    }
}
