import AdapterThreads
import Synchronization

/// Between a source's thread, which must not wait for Swift's tasks, and its task, which must not wait for the thread.
final class LoopControl: Sendable {
    /// What the thread asks of the task.
    enum Event: Equatable {
        /// Wait until the intake has room.
        case roomWanted
        /// The thread returns now, so joining it does not wait.
        case ended(MQTTPushError?)
        /// The source must stop, and the thread is in a call that may last: it ends by itself, later.
        case leftBehind
    }

    /// What the thread may do next.
    enum Room: Equatable { case unknown, free, closed }

    private struct State {
        var isStopping = false
        var isInBlockingCall = false
        var room = Room.unknown
        var event: Event?
        var waiter: CheckedContinuation<Event, Never>?
    }

    let wake: WakeSignal
    private let state = Mutex(State())

    init() throws(MQTTPushError) {
        do { wake = try WakeSignal() } catch { throw MQTTPushError(.noResources, error.description) }
    }

    // MARK: - The task's side

    /// The thread's next wish. One caller at a time; cancellation does not end the wait, as the thread always answers.
    func nextEvent() async -> Event {
        await withCheckedContinuation { continuation in
            let event = state.withLock { state -> Event? in
                guard let event = state.event else {
                    state.waiter = continuation
                    return nil
                }
                state.event = nil
                return event
            }
            if let event { continuation.resume(returning: event) }
        }
    }

    func answer(_ room: Room) {
        state.withLock { $0.room = room }
        wake.wake()
    }

    /// Asks the thread to stop gracefully; any number of times, from anywhere.
    func stop() {
        let isInBlockingCall = state.withLock { state in
            defer { state.isStopping = true }
            return state.isInBlockingCall && !state.isStopping
        }
        wake.wake()
        if isInBlockingCall { post(.leftBehind) }
    }

    // MARK: - The thread's side

    var isStopping: Bool { state.withLock { $0.isStopping } }
    var room: Room { state.withLock { $0.room } }

    func wantRoom() {
        state.withLock { $0.room = .unknown }
        post(.roomWanted)
    }

    /// Makes a call that may last; a stop does not wait for it.
    ///
    /// - Returns: `nil` when the source is stopping already and the call was not made.
    func blocking<Result>(_ call: () -> Result) -> Result? {
        let mayCall = state.withLock { state in
            state.isInBlockingCall = !state.isStopping
            return state.isInBlockingCall
        }
        guard mayCall else { return nil }
        let result = call()
        state.withLock { $0.isInBlockingCall = false }
        return result
    }

    /// The thread's last act.
    func end(_ error: MQTTPushError?) {
        post(.ended(error))
    }

    private func post(_ event: Event) {
        let waiter = state.withLock { state -> CheckedContinuation<Event, Never>? in
            guard let waiter = state.waiter else {
                state.event = state.event == .leftBehind ? .leftBehind : event
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume(returning: event)
    }
}
