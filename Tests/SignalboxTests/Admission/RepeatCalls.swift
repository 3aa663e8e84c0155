import SignalboxCore
import Synchronization

/// How often a plugin was called, by the id.
final class RepeatCalls: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    /// - Returns: which call for this id it is.
    @discardableResult
    func note(_ context: ActionContext) -> Int {
        counts.withLock { counts in
            counts[context.id.text, default: 0] += 1
            return counts[context.id.text, default: 0]
        }
    }

    subscript(_ id: String) -> Int { counts.withLock { $0[id, default: 0] } }

    /// A batch of one message, for the action `work` with the id `a` if nothing else is said.
    static func one(_ token: UInt64, _ text: String = message("work", id: "a")) -> [Arrival] {
        arrivals(firstToken: token, [text])
    }
}
