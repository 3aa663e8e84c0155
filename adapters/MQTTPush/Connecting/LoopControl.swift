import AdapterSupport
import Synchronization

/// A hand-off between a source's thread and its Swift task; neither blocks on the other.
final class LoopControl: Sendable {
    /// A request or notification from the thread to the task.
    enum Event: Equatable {
        /// The task should wait until the intake has room.
        case roomWanted
        /// The thread is returning, so joining it does not block.
        case ended(MQTTPushError?)
        /// The source must stop, but the thread is in a call that may block for long. The thread ends by itself later.
        case detach
    }

    /// Whether the thread may submit more arrivals.
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

    /// Waits for the thread's next event. Supports one caller at a time. Cancellation does not end the wait, because
    /// the thread always posts an event.
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

    /// Stops the thread gracefully. Idempotent; any thread.
    func stop() {
        let isInBlockingCall = state.withLock { state in
            defer { state.isStopping = true }
            return state.isInBlockingCall && !state.isStopping
        }
        wake.wake()
        if isInBlockingCall { post(.detach) }
    }

    // MARK: - The thread's side

    var isStopping: Bool { state.withLock { $0.isStopping } }
    var room: Room { state.withLock { $0.room } }

    func wantRoom() {
        state.withLock { $0.room = .unknown }
        post(.roomWanted)
    }

    /// Makes a call that may block for long. A stop does not wait for it.
    ///
    /// - Returns: `nil` if the source was already stopping and the call was not made.
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

    /// Posts the final event. The thread calls this just before it returns.
    func end(_ error: MQTTPushError?) {
        post(.ended(error))
    }

    private func post(_ event: Event) {
        let waiter = state.withLock { state -> CheckedContinuation<Event, Never>? in
            guard let waiter = state.waiter else {
                state.event = state.event == .detach ? .detach : event
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume(returning: event)
    }
}
