import AdapterSupport
import SignalboxCore
import Synchronization

/// The hand-off between a page's OS thread and the Swift task of its run; neither blocks on the other. It is also the
/// sink for the outcomes of the page's messages. Each run has its own.
final class PageControl: SettlementSink, MailboxReader {
    /// A request from the thread to the task.
    enum Event {
        /// Waits until the intake has room.
        case roomWanted
        /// The thread is about to return, so joining it does not block.
        case ended(JSBridgeError?)
        /// The thread is in a turn that cannot be ended; everything it submitted has settled.
        case detach
    }

    /// The task's answer to a request for room.
    enum Room { case unknown, free, closed }

    private struct State {
        var settlements: [(token: UInt64, outcome: Outcome)] = []
        /// The number of arrivals that are submitted and not settled.
        var outstanding = 0
        var isDetaching = false
        var room = Room.unknown
        var event: Event?
        var waiter: CheckedContinuation<Event, Never>?
    }

    let wake: WakeSignal
    /// Whether the page ends once its calls in flight have their outcomes.
    private let stopping = Atomic(false)
    /// Whether the page ends immediately.
    private let closing = Atomic(false)
    /// Whether a turn exceeded its limit without the engine ending it.
    private let overrun = Atomic(false)
    /// The number of turn boundaries; odd within a turn.
    private let turns = Atomic(0)
    let processorTime = ThreadTime()
    private let state = Mutex(State())

    init() throws(SystemResourceError) {
        wake = try WakeSignal()
    }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }
    var isClosing: Bool { closing.load(ordering: .relaxed) }

    var hasOverrun: Bool { overrun.load(ordering: .relaxed) }
    var turn: Int { turns.load(ordering: .relaxed) }

    // MARK: - Called by the task

    /// Waits for the thread's next event, even after cancellation: the thread always posts one. One caller at a time.
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

    /// Requests a graceful end of the page. Idempotent and safe on any thread.
    func stop() {
        stopping.store(true, ordering: .relaxed)
        wake.wake()
    }

    /// Requests the immediate end of the page. Idempotent and safe on any thread.
    func close() {
        closing.store(true, ordering: .relaxed)
        wake.wake()
    }

    func messagesArrived() {
        wake.wake()
    }

    /// Requests the immediate end of the page because its turn exceeded the limit.
    func endOverrun() {
        overrun.store(true, ordering: .relaxed)
        close()
    }

    /// Detaches the thread once everything it submitted has settled.
    func detachThread() {
        let isSettled = state.withLock { state in
            state.isDetaching = true
            return state.outstanding == 0
        }
        if isSettled { post(.detach) }
    }

    // MARK: - SettlementSink

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let (isFirst, isLast) = state.withLock { state in
            state.settlements.append((token, outcome))
            state.outstanding -= 1
            return (state.settlements.count == 1, state.isDetaching && state.outstanding == 0)
        }
        if isFirst { wake.wake() }
        if isLast { post(.detach) }
    }

    // MARK: - Called by the thread

    var room: Room { state.withLock { $0.room } }

    func wantRoom() {
        state.withLock { $0.room = .unknown }
        post(.roomWanted)
    }

    /// Takes the outcomes received since the last call, in order, in exchange for an empty array.
    func exchange(_ settlements: inout [(token: UInt64, outcome: Outcome)]) {
        state.withLock { swap(&$0.settlements, &settlements) }
    }

    /// Adds to the number of unsettled arrivals. A negative count withdraws arrivals that the intake refused.
    func expect(_ count: Int) {
        state.withLock { $0.outstanding += count }
    }

    /// Counts the begin or end of JavaScript execution.
    func countTurn() {
        turns.wrappingAdd(1, ordering: .relaxed)
    }

    /// Posts the end of the run, as the thread's last action.
    func end(_ error: JSBridgeError?) {
        post(.ended(error))
    }

    private func post(_ event: Event) {
        let waiter = state.withLock { state -> CheckedContinuation<Event, Never>? in
            guard let waiter = state.waiter else {
                state.event = event
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume(returning: event)
    }
}

extension PageControl {
    /// Ends the page when a turn exceeds its limit and the engine fails to end it. The engine misses endless promise
    /// chains, because each link enters it again. The thread of a page that makes no calls meanwhile is detached.
    ///
    /// - Parameter limit: The maximum processor time of a turn. The check runs every `2 * limit`, so a turn may use
    ///   several times as much.
    func watch(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: limit * 2)) != nil {
            guard let used = processorTime.used else { continue }
            let now = turn
            if now != seen.turn { seen = (now, used) }
            guard now % 2 == 1, used - seen.used > limit * 1.5 else { continue }
            endOverrun()
            // A long call within the library, such as a regular expression, ends by itself.
            if used - seen.used > limit * 1.5 + max(limit, .seconds(1)) { return detachThread() }
        }
    }

    /// Returns when a turn exceeds the limit by a second, which the library normally prevents, or upon cancellation.
    ///
    /// - Parameter limit: The maximum processor time of a turn, checked every tenth of it, at most ten times a second.
    func waitForOverrun(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: max(limit / 10, .milliseconds(100)))) != nil {
            guard let used = processorTime.used else { continue }
            let now = turn
            if now != seen.turn { seen = (now, used) }
            if now % 2 == 1, used - seen.used > limit + .seconds(1) { return }
        }
    }
}
