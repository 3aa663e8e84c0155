import Synchronization

/// How many messages the plugin has begun with, and whether that is enough to die.
final class Tally: Sendable {
    private let begun = Mutex(0)
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    /// - Returns: which message this is, from 1.
    func begin() -> Int {
        begun.withLock { begun in
            begun += 1
            return begun
        }
    }

    /// Whether a batch that is handled is the last thing this process does.
    var diesAtFlush: Bool {
        arguments.death == .flush && begun.withLock { $0 } >= arguments.deathAt
    }
}
