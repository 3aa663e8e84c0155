import SignalboxCore

/// A slice of a submitted batch: arrivals for the same lane, in order.
struct BatchSlice: Sendable {
    let arrivals: [Arrival]
    var range: Range<Int>
    let sink: any SettlementSink
    /// The supervisor's tick when the arrivals were routed.
    let tick: UInt64
    /// The intake that took the arrivals and settles them.
    let intake: SourceIntake
    /// The number of the next attempt, starting at 1.
    var attempt = 1
    /// The outcomes of the previous failed attempt, if any.
    var failures: FailedCalls?
    /// The call for the single arrival with its body already decoded, if the lane is ordered by key.
    var prepared: (@Sendable (ActionContext) async -> Outcome)?

    init(_ arrivals: [Arrival], in range: Range<Int>, sink: any SettlementSink, tick: UInt64, intake: SourceIntake) {
        self.arrivals = arrivals
        self.range = range
        self.sink = sink
        self.tick = tick
        self.intake = intake
    }

    /// Returns a part of the slice.
    func part(_ range: Range<Int>) -> BatchSlice {
        var part = self
        part.range = range
        return part
    }

    /// Removes and returns the first arrivals.
    mutating func removeFirst(_ count: Int) -> BatchSlice {
        let cut = range.lowerBound + count
        defer { range = cut..<range.upperBound }
        return part(range.lowerBound..<cut)
    }

    /// Returns a slice of the given positions. Arrivals are copied only if the positions have gaps.
    func part(at positions: [Int]) -> BatchSlice {
        guard let first = positions.first, let last = positions.last else {
            return part(range.lowerBound..<range.lowerBound)
        }
        if last - first + 1 == positions.count { return part(first..<last + 1) }
        var picked = BatchSlice(
            positions.map { arrivals[$0] },
            in: 0..<positions.count,
            sink: sink,
            tick: tick,
            intake: intake
        )
        picked.attempt = attempt
        picked.failures = failures?.picked(at: positions)
        return picked
    }

    /// Returns whether the ack deadline of the source has passed.
    func isOverdue(at now: UInt64) -> Bool {
        guard let limit = intake.ackDeadlineTicks else { return false }
        return now - tick >= limit
    }

    /// Settles the arrivals without making the next attempt.
    ///
    /// - Parameter isOfAttempt: Whether the outcome is that of the last attempt.
    func settle(_ outcome: Outcome, plugin: PluginEntry?, isOfAttempt: Bool = false) {
        let attempts = AttemptCount(started: attempt - 1, isOutcomeOfLast: isOfAttempt)
        for position in range {
            intake.settle(arrivals[position], outcome, plugin: plugin, sink: sink, attempts)
        }
    }

    /// Settles one arrival with the outcome of its attempt.
    func settle(_ position: Int, _ outcome: Outcome, plugin: PluginEntry?) {
        let attempts = AttemptCount(started: attempt, isOutcomeOfLast: true)
        intake.settle(arrivals[position], outcome, plugin: plugin, sink: sink, attempts)
    }

    /// Settles one arrival whose deadline passed before a call. A previous failed attempt determines the outcome.
    func settleLate(_ position: Int, plugin: PluginEntry?) {
        let late = Outcome.Rejection(.expired, detail: "the deadline passed before the plugin was called")
        let failure = failures?.outcome(at: position)
        let attempts = AttemptCount(started: attempt - 1, isOutcomeOfLast: failure != nil)
        intake.settle(arrivals[position], failure ?? .rejected(late), plugin: plugin, sink: sink, attempts)
    }

    /// The slice after its next attempt.
    var called: BatchSlice {
        var called = self
        called.attempt += 1
        return called
    }
}

/// The outcomes of the failed attempts for the arrivals of a slice.
struct FailedCalls: Sendable {
    private let outcomes: [Outcome]
    /// The position of the first outcome.
    private let first: Int

    init(_ outcomes: [Outcome], from first: Int) {
        self.outcomes = outcomes
        self.first = first
    }

    func outcome(at position: Int) -> Outcome? {
        outcomes.indices.contains(position - first) ? outcomes[position - first] : nil
    }

    /// Returns the outcomes for a slice made of the given positions.
    func picked(at positions: [Int]) -> FailedCalls {
        FailedCalls(positions.compactMap(outcome(at:)), from: 0)
    }
}

/// The number of attempts at an arrival when it was decided.
struct AttemptCount: Sendable {
    /// The number of attempts that were started.
    let started: Int
    /// Whether a plugin or middleware made the outcome in the last attempt. Otherwise the supervisor decided.
    let isOutcomeOfLast: Bool

    /// The value for an arrival decided before its first attempt.
    static let none = AttemptCount(started: 0, isOutcomeOfLast: false)
}

/// Arrivals that were decided outside their worker's task, to be settled after the lane's lock is released.
struct LaneVerdict: Sendable {
    let slice: BatchSlice
    let outcome: Outcome
    /// Whether the outcome is that of the last attempt.
    var isOfAttempt = false
}

/// Arrivals that were decided during routing, to be settled after the intake's lock is released.
struct IntakeVerdict: Sendable {
    let slice: BatchSlice
    let outcome: Outcome
    /// The plugin the arrivals were meant for, or `nil` if none was found.
    let plugin: PluginEntry?
    /// Whether the arrivals are duplicates of a handled one.
    var isDuplicate = false
}
