import Synchronization

/// The first signal that came.
final class SignalNote: Sendable {
    private let noted = Mutex<CommandStatus?>(nil)

    /// The status that stands for it.
    var first: CommandStatus? { noted.withLock { $0 } }

    /// Notes the signal with this status.
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
