import Signalbox
import Synchronization

/// Tells whether a supervisor is still alive, without keeping it so.
final class WeakSupervisor: Sendable {
    private struct State {
        weak var supervisor: Supervisor?
    }

    private let state = Mutex(State())

    var value: Supervisor? {
        get { state.withLock { $0.supervisor } }
        set { state.withLock { $0.supervisor = newValue } }
    }

    var isFreed: Bool { value == nil }
}
