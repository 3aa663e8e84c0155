import AdapterThreads
import SignalboxCore
import Synchronization

/// Between a page's thread, which must not wait for Swift's tasks, and the task of its run, which must not wait for the
/// thread; and where the thread hears what became of its messages. One object per run.
final class PageControl: SettlementSink, MailboxReader {
    /// What the thread asks of the task.
    enum Event {
        /// Wait until the intake has room.
        case roomWanted
        /// The thread returns now, so joining it does not wait.
        case ended(JSBridgeError?)
        /// The thread is in a turn that nothing can end; all it submitted is settled.
        case leftBehind
    }

    /// What the thread may do next.
    enum Room { case unknown, free, closed }

    private struct State {
        var settlements: [(token: UInt64, outcome: Outcome)] = []
        /// How many arrivals were submitted and not settled.
        var outstanding = 0
        var isLeftBehind = false
        var room = Room.unknown
        var event: Event?
        var waiter: CheckedContinuation<Event, Never>?
    }

    let wake: WakeSignal
    /// The page ends when its calls in flight have their outcomes.
    private let stopping = Atomic(false)
    /// The page ends now.
    private let closing = Atomic(false)
    /// A turn lasts too long, and the engine has not ended it.
    private let overrun = Atomic(false)
    /// The page's turns and the pauses between them, counted: odd within a turn.
    private let turns = Atomic(0)
    let processorTime = ThreadTime()
    private let state = Mutex(State())

    init() throws(NoSystemResource) {
        wake = try WakeSignal()
    }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }
    var isClosing: Bool { closing.load(ordering: .relaxed) }

    var hasOverrun: Bool { overrun.load(ordering: .relaxed) }
    var turn: Int { turns.load(ordering: .relaxed) }

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

    /// Asks the page to end gracefully; any number of times, from anywhere.
    func stop() {
        stopping.store(true, ordering: .relaxed)
        wake.wake()
    }

    /// Asks the page to end at once; any number of times, from anywhere.
    func close() {
        closing.store(true, ordering: .relaxed)
        wake.wake()
    }

    func mailArrived() {
        wake.wake()
    }

    /// Asks the page to end at once because of the turn it is in.
    func endOverrun() {
        overrun.store(true, ordering: .relaxed)
        close()
    }

    /// Gives the thread up, once what it submitted is settled.
    func leaveBehind() {
        let isSettled = state.withLock { state in
            state.isLeftBehind = true
            return state.outstanding == 0
        }
        if isSettled { post(.leftBehind) }
    }

    // MARK: - The sink

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let (isFirst, isLast) = state.withLock { state in
            state.settlements.append((token, outcome))
            state.outstanding -= 1
            return (state.settlements.count == 1, state.isLeftBehind && state.outstanding == 0)
        }
        if isFirst { wake.wake() }
        if isLast { post(.leftBehind) }
    }

    // MARK: - The thread's side

    var room: Room { state.withLock { $0.room } }

    func wantRoom() {
        state.withLock { $0.room = .unknown }
        post(.roomWanted)
    }

    /// Takes what was settled since the last call, in order, in exchange for an empty array.
    func exchange(_ settlements: inout [(token: UInt64, outcome: Outcome)]) {
        state.withLock { swap(&$0.settlements, &settlements) }
    }

    /// Notes that so many arrivals are about to be submitted, or were not taken after all.
    func expect(_ count: Int) {
        state.withLock { $0.outstanding += count }
    }

    /// Says that JavaScript begins, or has ended.
    func countTurn() {
        turns.wrappingAdd(1, ordering: .relaxed)
    }

    /// The thread's last act.
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
    /// Ends the page when a turn goes on although the engine should have ended it, as it does not see a chain of promises
    /// that never ends: each link enters it anew. A page that calls the program meanwhile can still be ended; the thread
    /// of another is given up.
    ///
    /// - Parameter limit: processor time of a turn. It is looked at seldom, so a turn may have some times as much.
    func watch(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: limit * 2)) != nil {
            guard let used = processorTime.used else { continue }
            let now = turn
            if now != seen.turn { seen = (now, used) }
            guard now % 2 == 1, used - seen.used > limit * 1.5 else { continue }
            endOverrun()
            // A long call of the library's own, such as a regular expression, ends by itself.
            if used - seen.used > limit * 1.5 + max(limit, .seconds(1)) { return leaveBehind() }
        }
    }

    /// Returns when a turn has gone on for a second beyond the limit, which no script that the library can end does, or when
    /// its task is cancelled.
    ///
    /// - Parameter limit: processor time of a turn, which is checked ten times in that time, and at most ten times a second.
    func untilOverrun(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: max(limit / 10, .milliseconds(100)))) != nil {
            guard let used = processorTime.used else { continue }
            let now = turn
            if now != seen.turn { seen = (now, used) }
            if now % 2 == 1, used - seen.used > limit + .seconds(1) { return }
        }
    }
}
