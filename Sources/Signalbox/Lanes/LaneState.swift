import DequeModule
import SignalboxCore
import Synchronization

/// Holds a lane's queues and workers, behind the lane's lock. This type uses no threads and never waits.
struct LaneState: Sendable {
    let order: LaneOptions.Order
    let maxConcurrent: Int
    /// Whether a single call handles a whole slice.
    let callsWholeSlices: Bool

    var groups = OrderingGroups()
    /// The groups that have a call ready to start. Each group is listed at most once, and the groups take turns.
    private(set) var ready = Deque<Int>()
    /// The source groups that contain actions whose keys are not known yet.
    private(set) var unsorted = Deque<Int>()
    /// The worker that is decoding keys. Only one worker decodes keys at a time, because actions with equal keys must
    /// stay in order.
    var sorter: Int?
    /// Whether every worker that holds more than one action has been asked to yield.
    private(set) var hasAskedToYield = false

    var workers: [LaneWorkerState] = []
    private(set) var parked: [Int] = []
    private(set) var ended: [Int] = []
    var retries = TickSchedule<ScheduledRetry>()
    /// Whether the lane receives no more slices, so that the workers' tasks end once everything has been handled.
    var isClosed = false
    /// Whether calls have to wait until everything for the replaced plugin has been settled.
    var isWaitingForPredecessor: Bool
    /// Whether the plugin's replacement has been allowed to start.
    var hasActivatedReplacement = false
    /// The number of arrivals that have been rejected because the lane is stalled.
    var unavailable = 0
    /// Whether the thread that submits may call the plugin, as its options ask for.
    var mayRunInline: Bool
    /// The source whose inline call was too slow, until that has been logged.
    var slowInlineSource: Settler?
    /// Limits how often the rejected arrivals are logged.
    var report: CountReport
    /// The source of the call that most recently stalled the lane.
    var stalledBy: Settler?

    /// The maximum number of actions whose keys a worker decodes in one go.
    private static let sortedAtOnce = 32

    /// Whether no call can start, because every worker is occupied by a call that has been settled but has not
    /// returned.
    var isStalled: Bool { workers.count >= maxConcurrent && workers.allSatisfy(\.isStalled) }

    private var isEmpty: Bool { retries.isEmpty && sorter == nil && groups.isEmpty }

    /// Returns `true` once, as soon as the plugin's replacement may start. By then the lane is closed and empty, and
    /// every call in progress has been settled.
    mutating func takeActivation() -> Bool {
        guard isClosed, !hasActivatedReplacement, !isWaitingForPredecessor, isEmpty,
            workers.allSatisfy({ $0.current == nil || $0.isStalled })
        else { return false }
        hasActivatedReplacement = true
        return true
    }
}

// MARK: - Queues

extension LaneState {
    /// Adds a slice to its source's group.
    ///
    /// - Returns: `false` if the plugin is unavailable for the group.
    mutating func enqueue(_ slice: consuming BatchSlice) -> Bool {
        let group = groups.group(of: slice.settler)
        return enqueue(slice, to: group)
    }

    /// Adds an action to its key's group.
    ///
    /// - Returns: `false` if the plugin is unavailable for the group.
    mutating func enqueue(_ action: consuming BatchSlice, key: LaneKey) -> Bool {
        let group = groups.group(of: key)
        guard enqueue(action, to: group) else {
            release(group)
            return false
        }
        return true
    }

    private mutating func enqueue(_ slice: consuming BatchSlice, to group: Int) -> Bool {
        guard !isStalled, !groups.all[group].isStalled else {
            unavailable += slice.range.count
            return false
        }
        groups.add(slice, to: group)
        list(group)
        return true
    }

    /// Lists the group to be served, if the group has waiting actions and no call in progress.
    mutating func list(_ group: Int) {
        guard !groups.all[group].isListed, !groups.all[group].isHeld, !groups.all[group].waiting.isEmpty else { return }
        groups.all[group].isListed = true
        if order == .key, !groups.all[group].isOfKey { unsorted.append(group) } else { ready.append(group) }
    }

    /// Forgets a source that will not submit anything else.
    mutating func forget(_ settler: Settler) {
        if let group = groups.detach(settler) { release(group) }
    }

    /// Lists a group that has no call in progress. An empty group is freed instead, if it belongs to a key or to a
    /// removed source.
    mutating func release(_ group: Int) {
        if !groups.free(group) { list(group) }
    }

    /// Moves the unstarted part of a worker's slice to the front of the group's queue.
    mutating func putBack(_ slice: BatchSlice, to group: Int?) {
        let group = group ?? groups.group(of: slice.settler)
        groups.add(slice, to: group, isFirst: true)
        list(group)
    }
}

// MARK: - Scheduling

extension LaneState {
    /// Returns the next work for an idle worker, or `nil` if nothing can start.
    mutating func takeWork(for position: Int) -> LaneWork? {
        workers[position].worker.isAskedToYield.store(false, ordering: .relaxed)
        while let group = ready.popFirst() {
            groups.all[group].isListed = false
            // Several workers share the slices of an unordered plugin.
            let next =
                callsWholeSlices && (order != .none || maxConcurrent == 1)
                ? groups.popFirstTogether(of: group) : groups.popFirst(of: group, most: turnLength)
            guard let slice = next else {
                release(group)
                continue
            }
            if slice.range.count > 1 { hasAskedToYield = false }
            if order == .none {
                list(group)
                workers[position].begin(slice, of: nil)
            } else {
                groups.all[group].isHeld = true
                workers[position].begin(slice, of: group)
            }
            return .call(slice)
        }
        return takeUnsorted(for: position)
    }

    private mutating func takeUnsorted(for position: Int) -> LaneWork? {
        guard sorter == nil else { return nil }
        while let group = unsorted.popFirst() {
            groups.all[group].isListed = false
            guard let slice = groups.popFirst(of: group, most: LaneState.sortedAtOnce) else {
                release(group)
                continue
            }
            sorter = position
            groups.all[group].isHeld = true
            workers[position].begin(slice, of: group)
            return .sort(slice)
        }
        return nil
    }

    /// The maximum number of actions that a worker takes at once. A worker takes a single action if another group is
    /// waiting, or if unordered actions may run concurrently. Otherwise, it takes a whole slice.
    private var turnLength: Int {
        if callsWholeSlices { return .max }
        if order == .none, maxConcurrent > 1 { return 1 }
        return ready.isEmpty ? .max : 1
    }

    private var hasWork: Bool { !isWaitingForPredecessor && (!ready.isEmpty || (!unsorted.isEmpty && sorter == nil)) }

    /// Gives available work to parked workers, and starts another worker if this is permitted.
    ///
    /// If all workers are busy, those with more than one action are asked to yield. If no more work will come, the
    /// parked workers end.
    mutating func dispatch() -> LaneWakeups {
        var wakeups = LaneWakeups()
        while hasWork, let position = parked.popLast() {
            guard let work = takeWork(for: position) else {
                parked.append(position)
                break
            }
            if let continuation = workers[position].parked { wakeups.resume(continuation, with: work) }
            workers[position].parked = nil
        }
        guard hasWork else {
            endParked(&wakeups)
            return wakeups
        }
        if let position = ended.popLast() {
            wakeups.start(workers[position].worker)
        } else if let position = addWorker() {
            wakeups.start(workers[position].worker)
        } else if !ready.isEmpty, !hasAskedToYield, hasLongSlices {
            hasAskedToYield = true
            for position in workers.indices where (workers[position].current?.range.count ?? 0) > 1 {
                workers[position].worker.isAskedToYield.store(true, ordering: .relaxed)
            }
        }
        return wakeups
    }

    /// Whether a worker may hold a slice of several actions that it calls one by one.
    private var hasLongSlices: Bool {
        guard !callsWholeSlices else { return false }
        return order == .source || (order == .none && maxConcurrent == 1)
    }

    /// Removes the idle worker from those that wait for work. A lane that makes inline calls has at most one worker.
    ///
    /// - Returns: The worker's position, or `nil` if the worker is busy.
    mutating func takeIdleWorker() -> Int? {
        guard let position = parked.popLast() ?? ended.popLast() ?? addWorker() else { return nil }
        workers[position].worker.isAskedToYield.store(false, ordering: .relaxed)
        hasAskedToYield = false
        return position
    }

    /// Undoes ``takeIdleWorker()``. If the worker's task has not started or has ended, it is started when there is work.
    mutating func returnWorker(_ position: Int) {
        if workers[position].parked == nil { ended.append(position) } else { parked.append(position) }
    }

    /// Adds a worker without starting its task, unless there are as many as the options allow.
    private mutating func addWorker() -> Int? {
        guard workers.count < maxConcurrent else { return nil }
        let worker = LaneWorker(position: workers.count)
        workers.append(LaneWorkerState(worker: worker, callsWholeSlices: callsWholeSlices))
        return worker.position
    }

    /// Marks the worker's slice as done.
    ///
    /// - Returns: The slice. If it is the last reference to decoded bodies, these are freed with it, so release it without the
    ///   lane's lock.
    @discardableResult
    mutating func finish(_ position: Int) -> BatchSlice? {
        if sorter == position { sorter = nil }
        let group = workers[position].group
        let done = workers[position].end()
        guard let group else { return done }
        groups.all[group].isHeld = false
        groups.all[group].isStalled = false
        release(group)
        return done
    }

    /// Stores the continuation of a worker that has no work.
    ///
    /// - Returns: `true` if the worker must end instead, because no more work will come.
    mutating func park(_ position: Int, _ continuation: UnsafeContinuation<LaneWork?, Never>) -> Bool {
        guard !isClosed || !isEmpty else {
            ended.append(position)
            return true
        }
        workers[position].parked = continuation
        parked.append(position)
        return false
    }

    /// Ends the parked workers if no more work will come.
    mutating func endParked() -> LaneWakeups {
        var wakeups = LaneWakeups()
        endParked(&wakeups)
        return wakeups
    }

    private mutating func endParked(_ wakeups: inout LaneWakeups) {
        guard isClosed, isEmpty else { return }
        for position in parked {
            if let continuation = workers[position].parked { wakeups.resume(continuation, with: nil) }
            workers[position].parked = nil
        }
        ended += parked
        parked = []
    }

    var hasEnded: Bool { isClosed && !isWaitingForPredecessor && isEmpty && ended.count == workers.count }

    /// Moves the rest of a worker's slice back to its group's queue, so that other groups are served first.
    mutating func giveWay(_ position: Int, behindCall number: UInt64) {
        guard let rest = workers[position].takeRest(behindCall: number) else { return }
        putBack(rest, to: workers[position].group)
    }
}

/// What a worker does next.
enum LaneWork: Sendable {
    /// Call the plugin.
    case call(BatchSlice)
    /// Decode the bodies of the actions to determine their keys.
    case sort(BatchSlice)
}

/// The workers to start or resume after the lane's lock has been released.
struct LaneWakeups: Sendable {
    private struct Resumption: Sendable {
        let continuation: UnsafeContinuation<LaneWork?, Never>
        let work: LaneWork?
    }

    /// The first resumption. Usually it is the only one, so storing it separately avoids an array.
    private var first: Resumption?
    private var others: [Resumption] = []
    private(set) var started: [LaneWorker] = []

    mutating func resume(_ continuation: UnsafeContinuation<LaneWork?, Never>, with work: LaneWork?) {
        let resumption = Resumption(continuation: continuation, work: work)
        if first == nil { first = resumption } else { others.append(resumption) }
    }

    mutating func start(_ worker: LaneWorker) {
        started.append(worker)
    }

    /// Resumes the workers that have been given work.
    func resume() {
        if let first { first.continuation.resume(returning: first.work) }
        for other in others { other.continuation.resume(returning: other.work) }
    }
}
