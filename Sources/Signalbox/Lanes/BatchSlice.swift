import SignalboxCore

/// Arrivals of one submitted batch that go to the same lane, in order.
struct LaneRun: Sendable {
    let arrivals: [Arrival]
    var range: Range<Int>
    let sink: any SettlementSink
    /// The supervisor's tick at which they were routed.
    let tick: UInt64
    /// Where they came in and are settled.
    let intake: SourceIntake
    /// Which call for them comes next, from 1 on.
    var attempt = 1
    /// How their last calls failed, where there were any.
    var failures: FailedCalls?
    /// The call of the one arrival, its body decoded already, where the lane had to know its key.
    var prepared: (@Sendable (ActionContext) async -> Outcome)?

    init(_ arrivals: [Arrival], in range: Range<Int>, sink: any SettlementSink, tick: UInt64, intake: SourceIntake) {
        self.arrivals = arrivals
        self.range = range
        self.sink = sink
        self.tick = tick
        self.intake = intake
    }

    /// A part of it.
    func part(_ range: Range<Int>) -> LaneRun {
        var part = self
        part.range = range
        return part
    }

    /// The same for these positions alone. Only positions with gaps between them are copied together.
    func part(at positions: [Int]) -> LaneRun {
        guard let first = positions.first, let last = positions.last else {
            return part(range.lowerBound..<range.lowerBound)
        }
        if last - first + 1 == positions.count { return part(first..<last + 1) }
        var picked = LaneRun(
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

    /// Whether its source can hold it no longer.
    func isOverdue(at now: UInt64) -> Bool {
        guard let limit = intake.holdTicks else { return false }
        return now - tick >= limit
    }

    /// Settles them without the attempt that comes next.
    ///
    /// - Parameter isOfAttempt: whether the last attempt ended in the outcome.
    func settle(_ outcome: Outcome, plugin: PluginEntry?, isOfAttempt: Bool = false) {
        let attempts = AttemptsMade(begun: attempt - 1, isOutcomeOfLast: isOfAttempt)
        for position in range {
            intake.settle(arrivals[position], outcome, plugin: plugin, sink: sink, attempts)
        }
    }

    /// Settles one with what its attempt ended in.
    func settle(_ position: Int, _ outcome: Outcome, plugin: PluginEntry?) {
        let attempts = AttemptsMade(begun: attempt, isOutcomeOfLast: true)
        intake.settle(arrivals[position], outcome, plugin: plugin, sink: sink, attempts)
    }

    /// Settles one that comes too late to be called, or to be called again: then it has failed as it did before.
    func settleLate(_ position: Int, plugin: PluginEntry?) {
        let late = Outcome.Rejection(.expired, detail: "its deadline passed before the plugin could begin")
        let failure = failures?.outcome(at: position)
        let attempts = AttemptsMade(begun: attempt - 1, isOutcomeOfLast: failure != nil)
        intake.settle(arrivals[position], failure ?? .rejected(late), plugin: plugin, sink: sink, attempts)
    }

    /// The same behind the call that was next.
    var called: LaneRun {
        var called = self
        called.attempt += 1
        return called
    }
}

/// How the last calls for the arrivals of a run failed.
struct FailedCalls: Sendable {
    private let outcomes: [Outcome]
    /// The position of the first of them.
    private let first: Int

    init(_ outcomes: [Outcome], from first: Int) {
        self.outcomes = outcomes
        self.first = first
    }

    func outcome(at position: Int) -> Outcome? {
        outcomes.indices.contains(position - first) ? outcomes[position - first] : nil
    }

    /// The same for a run that was made of these positions alone.
    func picked(at positions: [Int]) -> FailedCalls {
        FailedCalls(positions.compactMap(outcome(at:)), from: 0)
    }
}

/// How far the attempts at an arrival had come when it was decided.
struct AttemptsMade: Sendable {
    /// How many were begun.
    let begun: Int
    /// Whether the outcome is what the last of them ended in, as a plugin or middleware made it; else the supervisor decided.
    let isOutcomeOfLast: Bool

    /// Something else decided before the first.
    static let none = AttemptsMade(begun: 0, isOutcomeOfLast: false)
}

/// Arrivals that somebody other than the lane's task decided, to be settled once the lane's lock is released.
struct LaneVerdict: Sendable {
    let run: LaneRun
    let outcome: Outcome
    /// Whether it is what their last attempt ended in.
    var isOfAttempt = false
}

/// Arrivals decided while routing, to be settled once the intake's lock is released.
struct IntakeVerdict: Sendable {
    let run: LaneRun
    let outcome: Outcome
    /// The plugin they were meant for, or `nil` when none was found.
    let plugin: PluginEntry?
    /// Whether they repeat what was handled before.
    var isRepeat = false
}
