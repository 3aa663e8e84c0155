import AdapterSupport
import Synchronization

/// The process groups of the programs that run, so that none outlives this process. Safe to use from any thread.
final class ProgramGroups: Sendable {
    /// The groups of all plugins.
    static let shared = ProgramGroups()

    private let groups = Mutex<Set<pid_t>>([])

    /// Adds a group.
    func insert(_ group: pid_t) { groups.withLock { _ = $0.insert(group) } }

    /// Removes a group that has ended.
    func remove(_ group: pid_t) { groups.withLock { _ = $0.remove(group) } }

    /// Ends the groups of calls that have not returned. Call this when the process ends.
    func endAll() {
        for group in groups.withLock({ $0 }) { kill(-group, SIGKILL) }
    }
}

/// The process group of one program, in ``ProgramGroups/shared`` from its start to its end.
final class RunningGroup: Sendable {
    private let group = Mutex<pid_t?>(nil)

    /// Adds the group of the program that has started.
    func add(_ group: pid_t) {
        self.group.withLock { $0 = group }
        ProgramGroups.shared.insert(group)
    }

    /// Removes the group of the program, which has ended. Does nothing if it did not start.
    func remove() {
        if let group = group.withLock({ $0 }) { ProgramGroups.shared.remove(group) }
    }
}
