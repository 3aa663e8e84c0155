import Foundation
import Synchronization

/// The process groups of the programs that run, so that none outlives this process. Safe to use from any thread.
final class ProgramGroups: Sendable {
    /// The groups of all plugins.
    static let shared = ProgramGroups()

    private let groups = Mutex<Set<pid_t>>([])

    /// Adds a group while `body` runs.
    func holding<Result>(_ group: pid_t, _ body: () async throws -> Result) async rethrows -> Result {
        groups.withLock { _ = $0.insert(group) }
        defer { groups.withLock { _ = $0.remove(group) } }
        return try await body()
    }

    /// Ends the groups of calls that have not returned. Call this when the process ends.
    func endAll() {
        for group in groups.withLock({ $0 }) { kill(-group, SIGKILL) }
    }
}
