import AdapterSupport
import SignalboxCore
import Synchronization

/// The control of one run of a headless page, usable from any thread. It also receives the outcomes of the messages of
/// the page.
final class PageControl: SettlementSink, MailboxReader {
    private struct State {
        var settlements: [(token: UInt64, outcome: Outcome)] = []
        /// The number of arrivals that are submitted and not settled.
        var outstanding = 0
        var isDetaching = false
    }

    /// The hand-off between the page's thread and the task of its run.
    let bridge: ThreadBridge<JSBridgeError>
    /// Whether the page must end immediately.
    private let closing = Atomic(false)
    /// Whether a turn exceeded its limit and the engine did not end it.
    private let overrun = Atomic(false)
    /// The number of turn boundaries, which is odd within a turn.
    private let turns = Atomic(0)
    let processorTime = ThreadTime()
    private let state = Mutex(State())

    /// - Throws: ``SystemResourceError`` if no file descriptor is available.
    init() throws(SystemResourceError) {
        bridge = try ThreadBridge()
    }

    var wake: WakeSignal { bridge.wake }
    /// Whether the page ends once its calls in flight have their outcomes.
    var isStopping: Bool { bridge.isStopping }
    var isClosing: Bool { closing.load(ordering: .relaxed) }
    var hasOverrun: Bool { overrun.load(ordering: .relaxed) }

    // MARK: - Any thread

    /// Requests the immediate end of the page. Calling this method again has no effect.
    func close() {
        closing.store(true, ordering: .relaxed)
        wake.wake()
    }

    func messagesArrived() {
        wake.wake()
    }

    /// Requests the immediate end of the page, because its turn exceeded the limit.
    func endOverrun() {
        overrun.store(true, ordering: .relaxed)
        close()
    }

    /// Detaches the thread once everything that it submitted has settled.
    func detachThread() {
        let isSettled = state.withLock { state in
            state.isDetaching = true
            return state.outstanding == 0
        }
        if isSettled { bridge.detach() }
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
        if isLast { bridge.detach() }
    }

    // MARK: - The thread

    /// Takes the outcomes that were received since the last call, in order, in exchange for an empty array.
    func exchange(_ settlements: inout [(token: UInt64, outcome: Outcome)]) {
        state.withLock { swap(&$0.settlements, &settlements) }
    }

    /// Adds to the number of unsettled arrivals. A negative count withdraws arrivals that the intake has refused.
    func expect(_ count: Int) {
        state.withLock { $0.outstanding += count }
    }

    /// Counts the beginning or the end of a turn.
    func countTurn() {
        turns.wrappingAdd(1, ordering: .relaxed)
    }
}

extension PageControl {
    /// Ends the page when a turn exceeds its limit and the engine fails to end the turn.
    ///
    /// The engine misses endless promise chains, because each link enters the engine again. If the page makes no call
    /// through which it could be ended, its thread is detached.
    ///
    /// - Parameter limit: The maximum processor time of a turn. The check runs every `2 * limit`, so a turn may use
    ///   several times as much.
    func watch(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: limit * 2)) != nil {
            let time = timeOfTurn(since: &seen)
            guard time > limit * 1.5 else { continue }
            endOverrun()
            // A long call within the library, such as a regular expression, ends by itself.
            if time > limit * 1.5 + max(limit, .seconds(1)) { return detachThread() }
        }
    }

    /// Returns when a turn exceeds the limit by a second, which the library normally prevents, or when the task is
    /// cancelled.
    ///
    /// - Parameter limit: The maximum processor time of a turn. The check runs every tenth of the limit, but at most
    ///   ten times a second.
    func waitForOverrun(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: max(limit / 10, .milliseconds(100)))) != nil {
            if timeOfTurn(since: &seen) > limit + .seconds(1) { return }
        }
    }

    /// Returns the processor time that the current turn has used since it was first seen, or zero between turns.
    private func timeOfTurn(since seen: inout (turn: Int, used: Duration)) -> Duration {
        guard let used = processorTime.used else { return .zero }
        let now = turns.load(ordering: .relaxed)
        if now != seen.turn { seen = (now, used) }
        return now % 2 == 1 ? used - seen.used : .zero
    }
}
