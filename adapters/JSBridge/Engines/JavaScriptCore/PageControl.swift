#if JavaScriptCore
import AdapterSupport
import SignalboxCore
import Synchronization

/// Controls one run of a headless page, and receives the outcomes of the page's messages. It is safe to use from any
/// thread.
final class PageControl: SettlementSink, MailboxReader {
    private struct State {
        var notices: [(token: UInt64, notice: PageNotice)] = []
        /// The number of arrivals that have been submitted but not settled.
        var outstanding = 0
        var isDetaching = false
    }

    /// The hand-off between the page's thread and the run's task.
    let bridge: ThreadBridge<JSBridgeError>
    /// Whether the page must end immediately.
    private let closing = Atomic(false)
    /// Whether a turn exceeded its limit and the engine failed to end it.
    private let overrun = Atomic(false)
    /// The number of times that a turn began or ended. The number is odd during a turn.
    private let turns = Atomic(0)
    let processorTime = ThreadTime()
    private let state = Mutex(State())

    /// - Throws: ``SystemResourceError`` if no file descriptor is available.
    init() throws(SystemResourceError) {
        bridge = try ThreadBridge()
    }

    var wake: WakeSignal { bridge.wake }
    /// Whether the page ends once its calls in flight have received their outcomes.
    var isStopping: Bool { bridge.isStopping }
    var isClosing: Bool { closing.load(ordering: .relaxed) }
    var hasOverrun: Bool { overrun.load(ordering: .relaxed) }

    // MARK: - Any thread

    /// Ends the page immediately. Calling this method again has no effect.
    func close() {
        closing.store(true, ordering: .relaxed)
        wake.wake()
    }

    func messagesArrived() {
        wake.wake()
    }

    /// Ends the page immediately, because a turn exceeded the limit.
    func endOverrun() {
        overrun.store(true, ordering: .relaxed)
        close()
    }

    /// Detaches the page's thread once everything that it submitted has settled.
    func detachThread() {
        let isSettled = state.withLock { state in
            state.isDetaching = true
            return state.outstanding == 0
        }
        if isSettled { bridge.detach() }
    }

    // MARK: - SettlementSink

    func mayAcknowledge(_ token: UInt64) {}

    func accepted(_ token: UInt64) {
        let isFirst = state.withLock { state in
            state.notices.append((token, .accepted))
            return state.notices.count == 1
        }
        if isFirst { wake.wake() }
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let (isFirst, isLast) = state.withLock { state in
            state.notices.append((token, .outcome(outcome)))
            state.outstanding -= 1
            return (state.notices.count == 1, state.isDetaching && state.outstanding == 0)
        }
        if isFirst { wake.wake() }
        if isLast { bridge.detach() }
    }

    // MARK: - The thread

    /// Takes the notices received since the last call, in order, and leaves an empty array in exchange.
    func exchange(_ notices: inout [(token: UInt64, notice: PageNotice)]) {
        state.withLock { swap(&$0.notices, &notices) }
    }

    /// Adds to the number of unsettled arrivals. Use a negative count to subtract arrivals that the intake refused.
    func expect(_ count: Int) {
        state.withLock { $0.outstanding += count }
    }

    /// Records that a turn begins or ends.
    func countTurn() {
        turns.wrappingAdd(1, ordering: .relaxed)
    }
}

extension PageControl {
    /// Ends the page when a turn exceeds its limit and the engine fails to end that turn.
    ///
    /// JavaScriptCore cannot limit endless promise chains, because each link enters it again. If the page makes no call
    /// during which it could be ended, the page's thread is detached.
    ///
    /// - Parameter limit: The maximum processor time of a turn. The check runs every `2 * limit`, so a turn may use
    ///   several times as much.
    func watch(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: limit * 2)) != nil {
            let time = timeOfTurn(since: &seen)
            guard time > limit * 1.5 else { continue }
            endOverrun()
            // A long call inside the library, such as a regular expression, ends by itself.
            if time > limit * 1.5 + max(limit, .seconds(1)) { return detachThread() }
        }
    }

    /// Returns when the task is cancelled, or when a turn exceeds the limit by a second, which JavaScriptCore normally
    /// prevents.
    ///
    /// - Parameter limit: The maximum processor time of a turn. The check runs every tenth of the limit, but at most
    ///   ten times a second.
    func waitForOverrun(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: max(limit / 10, .milliseconds(100)))) != nil {
            if timeOfTurn(since: &seen) > limit + .seconds(1) { return }
        }
    }

    /// Returns the processor time that the current turn has used since it was first observed, or zero between turns.
    private func timeOfTurn(since seen: inout (turn: Int, used: Duration)) -> Duration {
        guard let used = processorTime.used else { return .zero }
        let now = turns.load(ordering: .relaxed)
        if now != seen.turn { seen = (now, used) }
        return now % 2 == 1 ? used - seen.used : .zero
    }
}
#endif
