import Synchronization

/// The queues and workers of a lane: the state behind its lock, without threads or waiting.
struct LaneState: Sendable {
    let order: LaneOptions.Order
    let maxConcurrent: Int
    /// Whether one call handles a whole slice.
    let callsWholeRuns: Bool

    var strands: [LaneStrand] = []
    private var unusedStrands: [Int] = []
    private var sources: [ObjectIdentifier: Int] = [:]
    private var keys: [LaneKey: Int] = [:]
    /// The groups with a call that can start.
    private var ready = TurnList()
    /// The groups of sources whose actions' keys are unknown.
    private var unsorted = TurnList()
    /// The worker that decodes keys. Only one does, so that actions with equal keys stay in order.
    var sorter: Int?
    /// Whether all workers with more than one action have been asked to yield.
    private var hasAskedToYield = false

    var places: [PlaceState] = []
    private var parked: [Int] = []
    private var ended: [Int] = []
    var sleepers: [LaneSleeper] = []
    /// Whether no more slices will come. The workers' tasks end when nothing is left.
    var isClosed = false
    /// Whether calls must wait until the replaced plugin has nothing left.
    var isHeldBack: Bool
    /// Whether the replacement of this plugin has been allowed to start.
    var hasHandedOver = false
    /// The number of arrivals rejected because the lane is stalled, since the last log line about it.
    var unreported = 0
    /// The tick of that line, or `nil` if there was none.
    var reportedTick: UInt64?
    /// The source of the call that last stalled the lane.
    var stalledBy: SourceIntake?

    /// The maximum number of actions whose keys a worker decodes at once.
    private static let sortedAtOnce = 32

    init(order: LaneOptions.Order, maxConcurrent: Int, callsWholeRuns: Bool, isHeldBack: Bool) {
        self.isHeldBack = isHeldBack
        self.order = order
        self.maxConcurrent = maxConcurrent
        self.callsWholeRuns = callsWholeRuns
    }

    /// Whether no call can start, because every worker has a call that was settled and has not returned.
    var isStalled: Bool { places.count >= maxConcurrent && places.allSatisfy(\.isStalled) }

    private var isEmpty: Bool {
        sleepers.isEmpty && sorter == nil && strands.allSatisfy(\.waiting.isEmpty)
    }

    /// Returns `true` once, when the replacement of this plugin may start: the lane is closed and empty, and every call
    /// in progress is settled.
    mutating func takeHandover() -> Bool {
        guard isClosed, !hasHandedOver, !isHeldBack, isEmpty, places.allSatisfy({ $0.current == nil || $0.isStalled })
        else { return false }
        hasHandedOver = true
        return true
    }

    mutating func takeUnreported(at now: UInt64) -> Int {
        guard unreported > 0 else { return 0 }
        reportedTick = now
        defer { unreported = 0 }
        return unreported
    }
}

// MARK: - Queues

extension LaneState {
    /// - Returns: `false` if the plugin is unavailable to the slice's source.
    mutating func enqueue(_ run: LaneRun) -> Bool {
        let strand = strand(of: run.intake)
        guard !isStalled, !strands[strand].isStalled else {
            unreported += run.range.count
            return false
        }
        strands[strand].waiting.append(run)
        list(strand)
        return true
    }

    /// Adds an action whose key is known.
    ///
    /// - Returns: `false` if the plugin is unavailable for the key.
    mutating func enqueue(_ run: LaneRun, key: LaneKey) -> Bool {
        let strand = strand(of: key)
        guard !isStalled, !strands[strand].isStalled else {
            unreported += run.range.count
            release(strand)
            return false
        }
        strands[strand].waiting.append(run)
        list(strand)
        return true
    }

    mutating func strand(of intake: SourceIntake) -> Int {
        let source = ObjectIdentifier(intake)
        if let known = sources[source] { return known }
        let strand = newStrand(nil)
        sources[source] = strand
        return strand
    }

    private mutating func strand(of key: LaneKey) -> Int {
        if let known = keys[key] { return known }
        let strand = newStrand(key)
        keys[key] = strand
        return strand
    }

    private mutating func newStrand(_ key: LaneKey?) -> Int {
        guard let unused = unusedStrands.popLast() else {
            strands.append(LaneStrand(key: key))
            return strands.count - 1
        }
        strands[unused].key = key
        return unused
    }

    /// Lists the group to be served, if it has waiting actions and no call in progress.
    mutating func list(_ strand: Int) {
        guard !strands[strand].isListed, !strands[strand].isHeld, !strands[strand].waiting.isEmpty else { return }
        strands[strand].isListed = true
        if order == .key, strands[strand].key == nil { unsorted.append(strand) } else { ready.append(strand) }
    }

    /// Forgets a source that submits nothing more.
    mutating func forget(_ intake: SourceIntake) {
        guard let strand = sources.removeValue(forKey: ObjectIdentifier(intake)) else { return }
        strands[strand].isLeft = true
        release(strand)
    }

    /// Lists a group without a call in progress. An empty group of a key or a removed source is freed instead.
    mutating func release(_ strand: Int) {
        let key = strands[strand].key
        guard strands[strand].waiting.isEmpty, !strands[strand].isHeld, !strands[strand].isListed,
            key != nil || strands[strand].isLeft
        else { return list(strand) }
        if let key { keys[key] = nil }
        strands[strand].forget()
        unusedStrands.append(strand)
    }

    /// Returns the unstarted part of a worker's slice to the front of its group's queue.
    mutating func putBack(_ run: LaneRun, to strand: Int?) {
        let strand = strand ?? self.strand(of: run.intake)
        strands[strand].waiting.prepend(run)
        list(strand)
    }
}

// MARK: - Scheduling

extension LaneState {
    /// Returns the next work for an idle worker, or `nil` if nothing can start.
    mutating func takeWork(for position: Int) -> LaneWork? {
        places[position].place.isAskedToYield.store(false, ordering: .relaxed)
        while let strand = ready.popFirst() {
            strands[strand].isListed = false
            guard let run = strands[strand].waiting.popFirst(most: turnLength) else {
                release(strand)
                continue
            }
            if run.range.count > 1 { hasAskedToYield = false }
            if order == .none {
                list(strand)
                places[position].begin(run, of: nil)
            } else {
                strands[strand].isHeld = true
                places[position].begin(run, of: strand)
            }
            return .call(run)
        }
        return takeUnsorted(for: position)
    }

    private mutating func takeUnsorted(for position: Int) -> LaneWork? {
        guard sorter == nil else { return nil }
        while let strand = unsorted.popFirst() {
            strands[strand].isListed = false
            guard let run = strands[strand].waiting.popFirst(most: LaneState.sortedAtOnce) else {
                release(strand)
                continue
            }
            sorter = position
            strands[strand].isHeld = true
            places[position].begin(run, of: strand)
            return .sort(run)
        }
        return nil
    }

    /// The maximum number of actions a worker takes at once: one while another group waits, otherwise a whole slice.
    private var turnLength: Int {
        if callsWholeRuns { return .max }
        if order == .none, maxConcurrent > 1 { return 1 }
        return ready.isEmpty ? .max : 1
    }

    private var hasWork: Bool { !isHeldBack && (!ready.isEmpty || (!unsorted.isEmpty && sorter == nil)) }

    /// Assigns available work to parked workers and starts one more worker if permitted. If all are busy, those with
    /// more than one action are asked to yield. Parked workers end when nothing more will come.
    mutating func dispatch() -> LaneWakeups {
        var wakeups = LaneWakeups()
        while hasWork, let position = parked.popLast() {
            guard let work = takeWork(for: position) else {
                parked.append(position)
                break
            }
            if let continuation = places[position].parked { wakeups.resume(continuation, with: work) }
            places[position].parked = nil
        }
        guard hasWork else {
            endParked(&wakeups)
            return wakeups
        }
        if let position = ended.popLast() {
            wakeups.start(places[position].place)
        } else if places.count < maxConcurrent {
            let place = LanePlace(position: places.count)
            places.append(PlaceState(place, callsWholeRuns: callsWholeRuns))
            wakeups.start(place)
        } else if !ready.isEmpty, !hasAskedToYield, hasLongRuns {
            hasAskedToYield = true
            for position in places.indices where (places[position].current?.range.count ?? 0) > 1 {
                places[position].place.isAskedToYield.store(true, ordering: .relaxed)
            }
        }
        return wakeups
    }

    /// Whether a worker may have a slice of several actions that it calls one by one.
    private var hasLongRuns: Bool {
        guard !callsWholeRuns else { return false }
        return order == .source || (order == .none && maxConcurrent == 1)
    }

    /// Marks the worker's slice as done.
    mutating func finish(_ position: Int) {
        if sorter == position { sorter = nil }
        let strand = places[position].strand
        places[position].end()
        guard let strand else { return }
        strands[strand].isHeld = false
        strands[strand].isStalled = false
        release(strand)
    }

    /// - Returns: Whether the worker must end instead, because nothing more will come.
    mutating func park(_ position: Int, _ continuation: UnsafeContinuation<LaneWork?, Never>) -> Bool {
        guard !isClosed || !isEmpty else {
            ended.append(position)
            return true
        }
        places[position].parked = continuation
        parked.append(position)
        return false
    }

    /// Ends the parked workers if nothing more will come.
    mutating func endParked() -> LaneWakeups {
        var wakeups = LaneWakeups()
        endParked(&wakeups)
        return wakeups
    }

    private mutating func endParked(_ wakeups: inout LaneWakeups) {
        guard isClosed, isEmpty else { return }
        for position in parked {
            if let continuation = places[position].parked { wakeups.resume(continuation, with: nil) }
            places[position].parked = nil
        }
        ended += parked
        parked = []
    }

    var hasEnded: Bool { isClosed && !isHeldBack && isEmpty && ended.count == places.count }

    /// Returns the rest of a worker's slice to its queue, so that other groups are served first.
    mutating func giveWay(_ position: Int, behindCall number: UInt64) {
        guard let rest = places[position].takeRest(behindCall: number) else { return }
        putBack(rest, to: places[position].strand)
    }
}

/// The next step of a worker.
enum LaneWork: Sendable {
    /// Calls the plugin.
    case call(LaneRun)
    /// Decodes the bodies to determine their keys.
    case sort(LaneRun)
}

/// The workers to start or resume after the lane's lock is released.
struct LaneWakeups: Sendable {
    private struct Resumption: Sendable {
        let continuation: UnsafeContinuation<LaneWork?, Never>
        let work: LaneWork?
    }

    /// Usually the only one, which needs no array.
    private var first: Resumption?
    private var others: [Resumption] = []
    private(set) var started: [LanePlace] = []

    mutating func resume(_ continuation: UnsafeContinuation<LaneWork?, Never>, with work: LaneWork?) {
        let resumption = Resumption(continuation: continuation, work: work)
        if first == nil { first = resumption } else { others.append(resumption) }
    }

    mutating func start(_ place: LanePlace) {
        started.append(place)
    }

    /// Resumes the workers that have received work.
    func resume() {
        if let first { first.continuation.resume(returning: first.work) }
        for other in others { other.continuation.resume(returning: other.work) }
    }
}
