import Synchronization

/// A worker in a lane. Its task makes one call at a time, and an atomic word describes the current call.
final class LaneWorker: Sendable {
    /// The index of the worker's state among the lane's workers.
    let position: Int
    /// The task writes to the following members at each call, so they have cache lines of their own. Otherwise, the workers of two
    /// lanes could slow each other down.
    private let before = CacheLine()
    /// The ``CallState`` of the current call. The task stores it without holding the lane's lock, and the timer changes
    /// it while holding the lock.
    let call = Atomic<UInt64>(0)
    /// Whether other groups are waiting, so that the task must yield after the call in progress.
    let isAskedToYield = Atomic<Bool>(false)
    /// The identity of the worker's task.
    private let task = Atomic<Int>(0)
    private let after = CacheLine()

    init(position: Int) {
        self.position = position
    }

    /// The number of the next call, which is valid in the worker's task, and elsewhere only while the worker is idle or
    /// claimed for inline calls.
    var nextCall: UInt64 { CallState(rawValue: call.load(ordering: .acquiring)).number + 1 }

    var callState: CallState { CallState(rawValue: call.load(ordering: .acquiring)) }

    /// Changes the phase, unless the task has changed the state in the meantime.
    ///
    /// - Returns: Whether the phase was changed.
    func mark(_ callState: CallState, _ phase: CallState.Phase) -> Bool {
        call.compareExchange(
            expected: callState.rawValue,
            desired: callState.with(phase).rawValue,
            ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Records the current task. The worker's task calls this before doing anything else.
    func noteTask() {
        task.store(LaneWorker.currentTask ?? 0, ordering: .relaxed)
    }

    func isTask(_ other: Int) -> Bool { task.load(ordering: .relaxed) == other }

    /// Identifies the current task. The value is unique among running tasks.
    static var currentTask: Int? {
        withUnsafeCurrentTask { $0?.hashValue }
    }
}

/// The state of a worker's call, which fits in one atomic word: the call's number and its phase.
///
/// The task stores `running`, calls the plugin, and exchanges the state for `idle` when the plugin returns. In between,
/// the timer may change the state with a compare-and-exchange while holding the lane's lock. Each side notices if the
/// other has changed the state, so exactly one of them settles the call.
struct CallState: Sendable, Equatable {
    enum Phase: UInt64 {
        case idle = 0
        case running = 1
        /// The timer has settled the call, but the plugin has not returned.
        case expired = 2
        /// The task still has to settle the call, but no longer has the rest of its slice.
        case interrupted = 3
    }

    let rawValue: UInt64

    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    init(_ phase: Phase, call number: UInt64) {
        rawValue = number << 2 | phase.rawValue
    }

    var number: UInt64 { rawValue >> 2 }

    var phase: Phase { Phase(rawValue: rawValue & 3) ?? .idle }

    /// The state of the next call, in the same phase.
    var next: CallState { CallState(rawValue: rawValue + 4) }

    func with(_ phase: Phase) -> CallState { CallState(phase, call: number) }
}

/// The part of a worker's state that the lane's lock protects.
struct LaneWorkerState: Sendable {
    let worker: LaneWorker
    /// Whether a single call handles a whole slice.
    let callsWholeSlices: Bool
    /// The slice that the task is working on. `firstCall` is the number of the call for its first arrival.
    private(set) var current: BatchSlice?
    private(set) var firstCall: UInt64 = 0
    /// The ordering group of the current slice.
    var group: Int?
    /// Whether the timer has settled the call in progress, although the call has not returned.
    var isStalled = false
    /// The last call that the timer saw running, and the tick at which it first saw that call.
    var lastSeenCall: UInt64 = 0
    var lastSeenTick: UInt64 = 0
    /// The first call of the last inline slice that the timer saw running.
    var lastSeenFirstCall: UInt64 = 0
    /// Whether the submitting thread makes the current calls, instead of the worker's task.
    var isInline = false
    /// The continuation of the task while it waits for work.
    var parked: UnsafeContinuation<LaneWork?, Never>?

    mutating func begin(_ slice: BatchSlice, of group: Int?) {
        current = slice
        firstCall = worker.nextCall
        self.group = group
    }

    /// Returns whether a call of the worker runs inside the task, which may therefore wait for what the call submits. A
    /// synchronous plugin, as inline calls have, never waits.
    func hasCall(in task: Int) -> Bool { current != nil && !isInline && worker.isTask(task) }

    /// Ends the current slice, and returns it.
    mutating func end() -> BatchSlice? {
        var done: BatchSlice?
        swap(&done, &current)
        group = nil
        return done
    }

    /// Returns the position, within the current slice, of the arrival that the call handles. If a single call handles
    /// the whole slice, this is the last position.
    private func position(ofCall number: UInt64) -> Int? {
        guard let current, number >= firstCall else { return nil }
        if callsWholeSlices { return number == firstCall ? current.range.upperBound - 1 : nil }
        let position = current.range.lowerBound + Int(number - firstCall)
        return current.range.contains(position) ? position : nil
    }

    /// The number of arrivals in the current slice whose calls have not started.
    var waitingBehindCall: Int {
        guard let current, !callsWholeSlices, let position = position(ofCall: worker.callState.number) else { return 0 }
        return current.range.upperBound - position - 1
    }

    /// Returns the arrivals that the call handles: a single arrival or the whole slice.
    func called(_ number: UInt64) -> BatchSlice? {
        guard let current, let position = position(ofCall: number) else { return nil }
        return callsWholeSlices ? current : current.part(position..<position + 1)
    }

    /// Removes the part of the current slice that comes after the call in progress. This must be called either by the
    /// task itself, or after marking the call as expired or interrupted. The mark makes the task read the range again.
    mutating func takeRest(behindCall number: UInt64) -> BatchSlice? {
        guard let slice = current, let position = position(ofCall: number) else { return nil }
        current = slice.part(slice.range.lowerBound..<(position + 1))
        let rest = (position + 1)..<slice.range.upperBound
        return rest.isEmpty ? nil : slice.part(rest)
    }
}

/// Keeps what is before it in an object at least one cache line apart from what is behind it.
private struct CacheLine: Sendable {
    let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
