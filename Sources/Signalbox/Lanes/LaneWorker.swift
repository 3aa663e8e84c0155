import Synchronization

/// A worker of a lane: a task that makes one call at a time, and the atomic word that describes its current call.
final class LaneWorker: Sendable {
    /// The index of its state among the lane's workers.
    let position: Int
    /// A ``CallState``. The task stores it without the lane's lock; the timer changes it under the lock.
    let call = Atomic<UInt64>(0)
    /// Whether other groups wait, so that the task must yield after the call in progress.
    let isAskedToYield = Atomic<Bool>(false)
    /// The identity of the worker's task.
    private let task = Atomic<Int>(0)

    init(position: Int) {
        self.position = position
    }

    /// The number of the next call. Valid in the task, and elsewhere while the task is parked.
    var nextCall: UInt64 { CallState(rawValue: call.load(ordering: .acquiring)).number + 1 }

    var callState: CallState { CallState(rawValue: call.load(ordering: .acquiring)) }

    /// Changes the phase unless the task has changed the state since. Returns whether it did.
    func mark(_ callState: CallState, _ phase: CallState.Phase) -> Bool {
        call.compareExchange(
            expected: callState.rawValue,
            desired: callState.with(phase).rawValue,
            ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Records the current task. The worker's task calls it first.
    func noteTask() {
        task.store(LaneWorker.currentTask ?? 0, ordering: .relaxed)
    }

    func isTask(_ other: Int) -> Bool { task.load(ordering: .relaxed) == other }

    /// The identity of the caller's task, unique among running tasks.
    static var currentTask: Int? {
        withUnsafeCurrentTask { $0?.hashValue }
    }
}

/// The state of a worker's call in one atomic word: the call's number and whether the timer has settled it.
///
/// The task stores `running`, then exchanges it for `idle` when the plugin returns. In between, the timer may change it
/// with compare-and-exchange under the lane's lock. Each side detects the other's change, so exactly one settles.
struct CallState: Sendable, Equatable {
    enum Phase: UInt64 {
        case idle = 0
        case running = 1
        /// Settled by the timer, while the plugin has not returned.
        case expired = 2
        /// Still to be settled by the task, but the rest of its slice has been taken away.
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

/// The state of a worker behind the lane's lock.
struct LaneWorkerState: Sendable {
    let worker: LaneWorker
    /// Whether one call handles a whole slice.
    let callsWholeSlices: Bool
    /// The task's current slice. `firstCall` is the call number of its first arrival.
    private(set) var current: BatchSlice?
    private(set) var firstCall: UInt64 = 0
    /// The ordering group of the slice.
    var group: Int?
    /// Whether the timer settled the call in progress, which has not returned.
    var isStalled = false
    /// The last call observed running, and the tick at which it was first observed.
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

    /// Returns the position of a call's arrival in the current slice, or the last position if one call handles all.
    private func position(ofCall number: UInt64) -> Int? {
        guard let current, number >= firstCall else { return nil }
        if callsWholeSlices { return number == firstCall ? current.range.upperBound - 1 : nil }
        let position = current.range.lowerBound + Int(number - firstCall)
        return current.range.contains(position) ? position : nil
    }

    /// Returns the arrivals of a call: one, or the whole slice.
    func called(_ number: UInt64) -> BatchSlice? {
        guard let current, let position = position(ofCall: number) else { return nil }
        return callsWholeSlices ? current : current.part(position..<position + 1)
    }

    /// Removes the part of the current slice after the call in progress. The caller is the task itself, or has marked
    /// the call as expired or interrupted; the task then reads the range again.
    mutating func takeRest(behindCall number: UInt64) -> BatchSlice? {
        guard let slice = current, let position = position(ofCall: number) else { return nil }
        current = slice.part(slice.range.lowerBound..<(position + 1))
        let rest = (position + 1)..<slice.range.upperBound
        return rest.isEmpty ? nil : slice.part(rest)
    }
}
