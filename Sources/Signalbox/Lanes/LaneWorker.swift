import Synchronization

/// One of the calls that a lane can have at once: a task, and the word that says what it does.
final class LanePlace: Sendable {
    /// Where its state is among the lane's places.
    let position: Int
    /// A ``CallWord``. The task writes it without the lane's lock; the timer changes it under the lock.
    let call = Atomic<UInt64>(0)
    /// Others wait for their turn: the task lets them go first after the call in progress.
    let isAskedToYield = Atomic<Bool>(false)
    /// Tells the place's task from others.
    private let task = Atomic<Int>(0)

    init(position: Int) {
        self.position = position
    }

    /// The number of the call that the task begins next. Known to the task, and to others while the task is parked.
    var nextCall: UInt64 { CallWord(rawValue: call.load(ordering: .acquiring)).number + 1 }

    var word: CallWord { CallWord(rawValue: call.load(ordering: .acquiring)) }

    /// Changes what the task has written, unless it has gone on since.
    func mark(_ word: CallWord, _ phase: CallWord.Phase) -> Bool {
        call.compareExchange(
            expected: word.rawValue,
            desired: word.with(phase).rawValue,
            ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Called by the place's task when it begins.
    func noteTask() {
        task.store(LanePlace.currentTask ?? 0, ordering: .relaxed)
    }

    func isTask(_ other: Int) -> Bool { task.load(ordering: .relaxed) == other }

    /// What tells the task of the caller from all others that run.
    static var currentTask: Int? {
        withUnsafeCurrentTask { $0?.hashValue }
    }
}

/// What a lane is doing, in one atomic word: the number of its current call and whether somebody has settled it.
///
/// The lane writes `running` and, when the plugin has returned, exchanges it for `idle`. The timer changes it in between
/// with compare-and-exchange, under the lane's lock. Whoever sees the other's mark knows what is left to do, so exactly
/// one of them settles the arrival.
struct CallWord: Sendable, Equatable {
    enum Phase: UInt64 {
        case idle = 0
        case running = 1
        /// Settled by the timer; the plugin has not returned.
        case expired = 2
        /// Still the lane's to settle, but the rest of its run has been taken away.
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

    /// The word of the following call, in the same phase.
    var next: CallWord { CallWord(rawValue: rawValue + 4) }

    func with(_ phase: Phase) -> CallWord { CallWord(phase, call: number) }
}

/// What a place of a lane works on: the part of it that is behind the lane's lock.
struct PlaceState: Sendable {
    let place: LanePlace
    /// One call takes the whole of a run.
    let callsWholeRuns: Bool
    /// The run the task works through, and the number of the call that its first arrival has.
    private(set) var current: LaneRun?
    private var firstCall: UInt64 = 0
    /// The strand that is held for the run.
    var strand: Int?
    /// The call in progress has been settled by the timer and has not returned.
    var isStalled = false
    /// The call last seen running and the tick of that look.
    var lastSeenCall: UInt64 = 0
    var lastSeenTick: UInt64 = 0
    /// The task, waiting for work.
    var parked: UnsafeContinuation<LaneWork?, Never>?

    init(_ place: LanePlace, callsWholeRuns: Bool) {
        self.place = place
        self.callsWholeRuns = callsWholeRuns
    }

    mutating func begin(_ run: LaneRun, of strand: Int?) {
        current = run
        firstCall = place.nextCall
        self.strand = strand
    }

    mutating func end() {
        current = nil
        strand = nil
    }

    /// The arrival that a call number of the current run stands for; the last one when a call takes the whole run.
    private func position(ofCall number: UInt64) -> Int? {
        guard let current, number >= firstCall else { return nil }
        if callsWholeRuns { return number == firstCall ? current.range.upperBound - 1 : nil }
        let position = current.range.lowerBound + Int(number - firstCall)
        return current.range.contains(position) ? position : nil
    }

    /// What the call number stands for: one arrival, or the whole run.
    func called(_ number: UInt64) -> LaneRun? {
        guard let current, let position = position(ofCall: number) else { return nil }
        return callsWholeRuns ? current : current.part(position..<position + 1)
    }

    /// What is left of the current run behind a call.
    func rest(behindCall number: UInt64) -> Range<Int>? {
        guard let current, let position = position(ofCall: number) else { return nil }
        return (position + 1)..<current.range.upperBound
    }

    /// Takes away the rest of the current run behind the call in progress, which the caller has marked as expired or
    /// interrupted, or makes itself: from then on the task asks for the range again.
    mutating func takeRest(behindCall number: UInt64) -> LaneRun? {
        guard let run = current, let position = position(ofCall: number) else { return nil }
        current = run.part(run.range.lowerBound..<(position + 1))
        let rest = (position + 1)..<run.range.upperBound
        return rest.isEmpty ? nil : run.part(rest)
    }
}
