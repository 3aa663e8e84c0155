import Synchronization

/// What came first of that which ends a program early: a signal, or the end of its time.
final class SignalNote: Sendable {
    private let noted = Mutex<CommandStatus?>(nil)

    /// The status that stands for it.
    var first: CommandStatus? { noted.withLock { $0 } }

    /// Notes what has this status.
    ///
    /// - Returns: whether none came before.
    func isFirst(_ status: CommandStatus) -> Bool {
        noted.withLock { noted in
            guard noted == nil else { return false }
            noted = status
            return true
        }
    }
}
