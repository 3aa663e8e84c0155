import Synchronization

/// What waits in a lane, whose turn it is, and what its places work on: the state behind the lane's lock, without threads
/// or waiting.
struct LaneState: Sendable {
    let order: LaneOptions.Order
    let maxConcurrent: Int
    /// One call takes the whole of a run.
    let callsWholeRuns: Bool

    var strands: [LaneStrand] = []
    private var unusedStrands: [Int] = []
    private var sources: [ObjectIdentifier: Int] = [:]
    private var keys: [LaneKey: Int] = [:]
    /// Strands of which a call can begin.
    private var ready = TurnList()
    /// Strands of sources whose actions' keys are not known yet.
    private var unsorted = TurnList()
    /// The place that is learning keys: one at a time, so that equal keys stay in order.
    var sorter: Int?
    /// All places with more than one action have been asked to let others have their turn.
    private var hasAskedToYield = false

    var places: [PlaceState] = []
    private var parked: [Int] = []
    private var ended: [Int] = []
    var sleepers: [LaneSleeper] = []
    /// No more runs come; the places' tasks end when nothing is left.
    var isClosed = false
    /// Nothing begins before the plugin whose place this one took has nothing left.
    var isHeldBack: Bool
    /// The plugin that took the place of this one may begin.
    var hasHandedOver = false
    /// Arrivals rejected because the lane is stalled, since the last log line about it.
    var unreported = 0
    /// When that line was written; `nil` when there was none yet.
    var reportedTick: UInt64?
    /// The source of the call that stalled the lane last.
    var stalledBy: SourceIntake?

    /// How many actions a place learns the keys of at once.
    private static let sortedAtOnce = 32

    init(order: LaneOptions.Order, maxConcurrent: Int, callsWholeRuns: Bool, isHeldBack: Bool) {
        self.isHeldBack = isHeldBack
        self.order = order
        self.maxConcurrent = maxConcurrent
        self.callsWholeRuns = callsWholeRuns
    }

    /// Whether no call can begin: each place has one that was settled and has not returned.
    var isStalled: Bool { places.count >= maxConcurrent && places.allSatisfy(\.isStalled) }

    private var isEmpty: Bool {
        sleepers.isEmpty && sorter == nil && strands.allSatisfy(\.waiting.isEmpty)
    }

    /// Whether whoever took the place of this plugin may begin from now on, which is said once: nothing more comes, nothing
    /// waits, and no call goes on that is not settled.
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

// MARK: - What waits

extension LaneState {
    /// - Returns: `false` when what comes for it is unavailable.
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
    /// - Returns: `false` when what comes for the key is unavailable.
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

    /// Lets the strand have its turn, when something of it waits and may begin.
    mutating func list(_ strand: Int) {
        guard !strands[strand].isListed, !strands[strand].isHeld, !strands[strand].waiting.isEmpty else { return }
        strands[strand].isListed = true
        if order == .key, strands[strand].key == nil { unsorted.append(strand) } else { ready.append(strand) }
    }

    /// Forgets a source of which nothing comes any more.
    mutating func forget(_ intake: SourceIntake) {
        guard let strand = sources.removeValue(forKey: ObjectIdentifier(intake)) else { return }
        strands[strand].isLeft = true
        release(strand)
    }

    /// Lists a strand that nobody holds; one with nothing waiting of a key, or of a source that is gone, is forgotten.
    mutating func release(_ strand: Int) {
        let key = strands[strand].key
        guard strands[strand].waiting.isEmpty, !strands[strand].isHeld, !strands[strand].isListed,
            key != nil || strands[strand].isLeft
        else { return list(strand) }
        if let key { keys[key] = nil }
        strands[strand].forget()
        unusedStrands.append(strand)
    }

    /// Puts back what a place has not begun, before all else that waits with it.
    mutating func putBack(_ run: LaneRun, to strand: Int?) {
        let strand = strand ?? self.strand(of: run.intake)
        strands[strand].waiting.prepend(run)
        list(strand)
    }
}

// MARK: - Turns

extension LaneState {
    /// The next work of a place that has none, or `nil` after it was noted that the place waits for it to come.
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

    /// How much a place takes at once: one action while another strand waits, else all that came together.
    private var turnLength: Int {
        if callsWholeRuns { return .max }
        if order == .none, maxConcurrent > 1 { return 1 }
        return ready.isEmpty ? .max : 1
    }

    private var hasWork: Bool { !isHeldBack && (!ready.isEmpty || (!unsorted.isEmpty && sorter == nil)) }

    /// Gives what can begin to places that wait, and begins one more where there may be. When all are busy those with
    /// more than one action are asked to let others have their turn. When nothing will come any more, those that wait end.
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

    /// Whether a place may have more than one action that it calls one by one.
    private var hasLongRuns: Bool {
        guard !callsWholeRuns else { return false }
        return order == .source || (order == .none && maxConcurrent == 1)
    }

    /// The place has done its work.
    mutating func finish(_ position: Int) {
        if sorter == position { sorter = nil }
        let strand = places[position].strand
        places[position].end()
        guard let strand else { return }
        strands[strand].isHeld = false
        strands[strand].isStalled = false
        release(strand)
    }

    /// - Returns: whether the place ends instead, as nothing will come any more.
    mutating func park(_ position: Int, _ continuation: UnsafeContinuation<LaneWork?, Never>) -> Bool {
        guard !isClosed || !isEmpty else {
            ended.append(position)
            return true
        }
        places[position].parked = continuation
        parked.append(position)
        return false
    }

    /// Ends the places that wait, when nothing will come any more.
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

    /// What is left of the run of a place lets others go first.
    mutating func giveWay(_ position: Int, behindCall number: UInt64) {
        guard let rest = places[position].takeRest(behindCall: number) else { return }
        putBack(rest, to: places[position].strand)
    }
}

/// What a place of a lane does next.
enum LaneWork: Sendable {
    /// Calls the plugin.
    case call(LaneRun)
    /// Decodes the bodies, to learn their keys.
    case sort(LaneRun)
}

/// What is to be done once a lane's lock is released: places that get work, or begin.
struct LaneWakeups: Sendable {
    private struct Resumption: Sendable {
        let continuation: UnsafeContinuation<LaneWork?, Never>
        let work: LaneWork?
    }

    /// Mostly there is one, which needs no memory of its own.
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

    /// Lets the places that got work go on.
    func resume() {
        if let first { first.continuation.resume(returning: first.work) }
        for other in others { other.continuation.resume(returning: other.work) }
    }
}
