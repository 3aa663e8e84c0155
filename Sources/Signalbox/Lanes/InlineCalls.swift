import SignalboxCore
import Synchronization

/// Calls that run on the thread that submits, instead of in a task of the lane.
///
/// The thread claims the lane's only worker under the lane's lock. The lane then treats it like a busy worker: what arrives
/// meanwhile waits in the queues, and the timer settles a call that is overdue. After its last call, the thread gives the
/// worker back, and a task takes over what waits.
struct InlineCalls: Sendable {
    /// The maximum number of actions that a thread handles before ``Intake/submit(_:to:)`` returns.
    static let limit = 64

    fileprivate let lane: Lane
    fileprivate let slice: BatchSlice
    fileprivate let worker: LaneWorker

    /// Calls the plugin for each action. The caller must not hold a lock.
    func run() {
        lane.run(self)
    }
}

extension Lane {
    /// Claims the lane for the current thread, if the plugin's calls may run there now. Otherwise, enqueue the slice.
    func claim(_ slice: BatchSlice) -> InlineCalls? {
        guard entry.options.runsInline, slice.range.count <= InlineCalls.limit, core.middleware.isEmpty,
            entry.middleware.isEmpty, InlineThread.isFree
        else { return nil }
        let worker = state.withLock { $0.claim(for: slice) }
        return worker.map { InlineCalls(lane: self, slice: slice, worker: $0) }
    }

    /// Whether the options ask for inline calls and no call was too slow.
    var mayRunInline: Bool { state.withLock { $0.mayRunInline } }

    fileprivate func run(_ calls: InlineCalls) {
        guard case .sync(let handler) = entry.call else { preconditionFailure("only synchronous plugins run inline") }
        InlineThread.whileOccupied { callEach(calls.slice, calls.worker, handler) }
        let (wakeups, activates, hasEnded) = state.withLock { state in
            state.finishInline(calls.worker.position)
            let wakeups = state.dispatch()
            return (wakeups, state.takeActivation(), state.hasEnded)
        }
        perform(wakeups)
        if activates { lanes.activateReplacement(of: entry) }
        guard hasEnded else { return }
        reportUnavailable()
        lanes.release(self)
    }
}

extension LaneState {
    /// Gives the only worker to the thread that submits the slice.
    ///
    /// - Returns: `nil` if the worker is busy, something else comes first, or the plugin was too slow before.
    mutating func claim(for slice: BatchSlice) -> LaneWorker? {
        guard mayRunInline, !isClosed, !isWaitingForPredecessor, ready.isEmpty else { return nil }
        let group = groups.group(of: slice.settler)
        guard groups.all[group].waiting.isEmpty, !groups.all[group].isHeld, let position = takeIdleWorker() else {
            return nil
        }
        groups.all[group].isHeld = true
        workers[position].begin(slice, of: group)
        workers[position].isInline = true
        return workers[position].worker
    }

    /// Marks the thread's slice as done, and makes the worker available again.
    mutating func finishInline(_ position: Int) {
        finish(position)
        workers[position].isInline = false
        returnWorker(position)
    }

    /// Ends the thread's calls after the one in progress if the timer has seen the same slice at an earlier tick. The lane makes
    /// the remaining calls of the slice.
    mutating func limitInlineCalls(at position: Int) {
        if workers[position].lastSeenFirstCall == workers[position].firstCall {
            workers[position].worker.isAskedToYield.store(true, ordering: .relaxed)
        }
        workers[position].lastSeenFirstCall = workers[position].firstCall
    }

    /// Records that the timer has seen the same inline call at two ticks. No later call of the plugin runs inline, because each
    /// of them may keep a source's thread from its connections.
    mutating func endInlineCalls(at position: Int) {
        guard mayRunInline else { return }
        mayRunInline = false
        slowInlineSource = workers[position].current?.settler
        workers[position].worker.isAskedToYield.store(true, ordering: .relaxed)
    }
}
