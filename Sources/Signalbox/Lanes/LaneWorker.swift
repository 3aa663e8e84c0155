import Synchronization

/// A worker of a lane. It consists of a task that makes one call at a time, and of an atomic word that describes the
/// current call.
final class LaneWorker: Sendable {
    /// The index of the worker's state among the lane's workers.
    let position: Int
    /// The state of the current call, a ``CallState``. The task stores it without the lane's lock, and the timer
    /// changes it under the lock.
    let call = Atomic<UInt64>(0)
    /// Whether other groups wait. The task must then yield after the call in progress.
    let isAskedToYield = Atomic<Bool>(false)
    /// The identity of the worker's task.
    private let task = Atomic<Int>(0)

    init(position: Int) {
        self.position = position
    }

    /// The number of the next call. It is valid in the worker's task and, while the task is parked, elsewhere too.
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

    /// Records the current task. The worker's task calls this method before anything else.
    func noteTask() {
        task.store(LaneWorker.currentTask ?? 0, ordering: .relaxed)
    }

    func isTask(_ other: Int) -> Bool { task.load(ordering: .relaxed) == other }

    /// The identity of the task that reads this property. It is unique among running tasks.
    static var currentTask: Int? {
        withUnsafeCurrentTask { $0?.hashValue }
    }
}

/// The state of a worker's call in one atomic word, which holds the call's number and its phase.
///
/// The task stores `running`, calls the plugin, and exchanges the state for `idle` when the plugin returns. In between,
/// the timer may change the state with compare-and-exchange under the lane's lock. Each side detects a change by the
/// other side, so exactly one of them settles the call.
struct CallState: Sendable, Equatable {
    enum Phase: UInt64 {
        case idle = 0
        case running = 1
        /// The timer has settled the call, and the plugin has not returned.
        case expired = 2
        /// The task still has to settle the call, but the rest of its slice has been taken away.
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

/// The state of a worker that is protected by the lane's lock.
struct LaneWorkerState: Sendable {
    let worker: LaneWorker
    /// Whether one call handles a whole slice.
    let callsWholeSlices: Bool
    /// The slice that the task is working on. `firstCall` is the call number of its first arrival.
    private(set) var current: BatchSlice?
    private(set) var firstCall: UInt64 = 0
    /// The ordering group of the current slice.
    var group: Int?
    /// Whether the timer has settled the call in progress, which has not returned.
    var isStalled = false
    /// The last call that the timer observed running, and the tick at which it first did.
    var lastSeenCall: UInt64 = 0
    var lastSeenTick: UInt64 = 0
    /// The continuation of the task while it waits for work.
    var parked: UnsafeContinuation<LaneWork?, Never>?

    mutating func begin(_ slice: BatchSlice, of group: Int?) {
        current = slice
        firstCall = worker.nextCall
        self.group = group
    }

    mutating func end() {
        current = nil
        group = nil
    }

    /// Returns the position of the call's arrival in the current slice. If one call handles the whole slice, this is
    /// the last position.
    private func position(ofCall number: UInt64) -> Int? {
        guard let current, number >= firstCall else { return nil }
        if callsWholeSlices { return number == firstCall ? current.range.upperBound - 1 : nil }
        let position = current.range.lowerBound + Int(number - firstCall)
        return current.range.contains(position) ? position : nil
    }

    /// Returns the arrivals that a call handles: either one arrival or the whole slice.
    func called(_ number: UInt64) -> BatchSlice? {
        guard let current, let position = position(ofCall: number) else { return nil }
        return callsWholeSlices ? current : current.part(position..<position + 1)
    }

    /// Removes the part of the current slice that follows the call in progress. The caller is either the task itself or
    /// has marked the call as expired or interrupted, which makes the task read the range again.
    mutating func takeRest(behindCall number: UInt64) -> BatchSlice? {
        guard let slice = current, let position = position(ofCall: number) else { return nil }
        current = slice.part(slice.range.lowerBound..<(position + 1))
        let rest = (position + 1)..<slice.range.upperBound
        return rest.isEmpty ? nil : slice.part(rest)
    }
}
