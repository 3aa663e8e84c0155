import Synchronization

/// What waits for the store's disk and holds the places of arrivals meanwhile. When the time for a drain is over, it is abandoned, so
/// that a full disk does not keep the program from ending.
final class PendingCommits: Sendable {
    private struct State {
        /// What is called if a commit is abandoned, by number.
        var abandonments: [UInt64: @Sendable () -> Void] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Adds a commit that is about to be requested.
    ///
    /// - Parameter abandon: Called if the commit is no longer waited for.
    /// - Returns: The number of the commit.
    func add(abandon: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.abandonments[state.last] = abandon
            return state.last
        }
    }

    /// Notes that a commit is on disk.
    ///
    /// - Returns: `false` if it was abandoned before.
    func take(_ number: UInt64) -> Bool { state.withLock { $0.abandonments.removeValue(forKey: number) != nil } }

    /// Abandons all commits.
    func abandonAll() {
        let abandonments = state.withLock { state in
            defer { state.abandonments = [:] }
            // In their order, so that a simulated run can be reproduced.
            return state.abandonments.sorted { $0.key < $1.key }.map(\.value)
        }
        for abandon in abandonments { abandon() }
    }
}
