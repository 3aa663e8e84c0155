import DequeModule
import SignalboxCore

/// What the arrivals of a batch for one plugin have in common. Slices of the batch are copied often, and each copy counts one
/// reference instead of one for each of these values.
private final class BatchRun: Sendable {
    let arrivals: [Arrival]
    let sink: any SettlementSink
    let tick: UInt64
    let settler: Settler
    let plugin: PluginEntry?

    init(_ arrivals: [Arrival], _ sink: any SettlementSink, _ tick: UInt64, _ settler: Settler, _ plugin: PluginEntry?)
    {
        self.arrivals = arrivals
        self.sink = sink
        self.tick = tick
        self.settler = settler
        self.plugin = plugin
    }
}

/// Part of a submitted batch: the arrivals for one lane, in order.
struct BatchSlice: Sendable {
    private var run: BatchRun
    var range: Range<Int>
    /// The number of the next attempt, starting at 1.
    var attempt = 1
    /// The outcomes of the previous attempt, if it failed.
    var failures: FailedCalls?
    /// Calls the plugin for the only arrival in the slice, whose body has already been decoded. Set only if the lane is
    /// ordered by key.
    var prepared: (@Sendable (ActionContext) async -> Outcome)?

    init(
        arrivals: [Arrival],
        range: Range<Int>,
        sink: any SettlementSink,
        tick: UInt64,
        settler: Settler,
        plugin: PluginEntry? = nil
    ) {
        run = BatchRun(arrivals, sink, tick, settler, plugin)
        self.range = range
    }

    var arrivals: [Arrival] { run.arrivals }

    var sink: any SettlementSink { run.sink }

    /// The tick at which the supervisor routed the arrivals.
    var tick: UInt64 { run.tick }

    /// The settler for the source of the arrivals.
    var settler: Settler { run.settler }

    /// The plugin that the arrivals are meant for, or `nil` if none was found.
    var plugin: PluginEntry? { run.plugin }

    /// Returns a part of the slice.
    func part(_ range: Range<Int>) -> BatchSlice {
        var part = self
        part.range = range
        return part
    }

    /// Creates the part of a slice with one arrival whose body has been decoded.
    init(_ position: Int, of slice: BatchSlice, prepared: @escaping @Sendable (ActionContext) async -> Outcome) {
        run = slice.run
        range = position..<position + 1
        attempt = slice.attempt
        failures = slice.failures
        self.prepared = prepared
    }

    /// Returns a part of the slice that is meant for a plugin.
    func part(_ range: Range<Int>, for plugin: PluginEntry?) -> BatchSlice {
        var part = part(range)
        if run.plugin !== plugin { part.run = BatchRun(run.arrivals, run.sink, run.tick, run.settler, plugin) }
        return part
    }

    /// Removes and returns the first arrivals.
    mutating func removeFirst(_ count: Int) -> BatchSlice {
        let cut = range.lowerBound + count
        defer { range = cut..<range.upperBound }
        return part(range.lowerBound..<cut)
    }

    /// Returns a slice of the arrivals at the given positions. Arrivals are copied only if there are gaps between the
    /// positions.
    func part(at positions: [Int]) -> BatchSlice {
        guard let first = positions.first, let last = positions.last else {
            return part(range.lowerBound..<range.lowerBound)
        }
        if last - first + 1 == positions.count { return part(first..<last + 1) }
        var slice = BatchSlice(
            arrivals: positions.map { arrivals[$0] },
            range: 0..<positions.count,
            sink: sink,
            tick: tick,
            settler: settler,
            plugin: plugin
        )
        slice.attempt = attempt
        slice.failures = failures?.picked(at: positions)
        return slice
    }

    /// Returns whether one call can handle both slices, and every outcome then reaches where it would have gone before.
    func canJoin(_ older: BatchSlice) -> Bool {
        sink === older.sink && settler === older.settler && plugin === older.plugin
            && attempt == 1 && older.attempt == 1 && prepared == nil && older.prepared == nil
    }

    /// Returns a slice of these arrivals, followed by those of the first `count` others. It counts as routed when this
    /// slice was.
    func joined(by others: Deque<BatchSlice>, first count: Int) -> BatchSlice {
        var arrivals: [Arrival] = []
        arrivals.reserveCapacity((0..<count).reduce(range.count) { $0 + others[$1].range.count })
        arrivals += self.arrivals[range]
        for index in 0..<count { arrivals += others[index].arrivals[others[index].range] }
        return BatchSlice(
            arrivals: arrivals,
            range: arrivals.indices,
            sink: sink,
            tick: tick,
            settler: settler,
            plugin: plugin
        )
    }

    /// Returns the same slice, marked as routed at the given tick.
    func routed(at tick: UInt64) -> BatchSlice {
        var routed = self
        routed.run = BatchRun(run.arrivals, run.sink, tick, run.settler, run.plugin)
        return routed
    }

    /// Returns whether the source's ack deadline has passed.
    func isOverdue(at now: UInt64) -> Bool {
        settler.ackDeadlineTicks.map { now - tick >= $0 } ?? false
    }

    /// Settles the arrivals with the given outcome, without another attempt.
    ///
    /// - Parameter isOfAttempt: Whether the outcome comes from the last attempt.
    func settle(_ outcome: Outcome, isOfAttempt: Bool = false) {
        let attempts = AttemptCount(started: attempt - 1, isOutcomeOfLast: isOfAttempt)
        for position in range { settler.settle(self, position, outcome, attempts) }
    }

    /// Settles one arrival with the outcome of its attempt.
    ///
    /// - Parameter outcome: The outcome, or `nil` if the deadline passed before the call. An earlier failed attempt, if
    ///   any, then determines the outcome.
    func settle(_ position: Int, _ outcome: Outcome?, _ meter: CallMeter) {
        if let outcome {
            let attempts = AttemptCount(started: attempt, isOutcomeOfLast: true)
            return settler.settle(self, position, outcome, attempts, meter)
        }
        let late = Outcome.Rejection(.expired, detail: "the deadline passed before the plugin was called")
        let failure = failures?.outcome(at: position)
        let attempts = AttemptCount(started: attempt - 1, isOutcomeOfLast: failure != nil)
        settler.settle(self, position, failure ?? .rejected(late), attempts, meter)
    }

    /// The slice as it is after its next attempt.
    var called: BatchSlice {
        var called = self
        called.attempt += 1
        return called
    }
}

/// The outcomes of failed attempts for a slice's arrivals.
struct FailedCalls: Sendable {
    let outcomes: [Outcome]
    /// The position of the first arrival with an outcome.
    let first: Int

    func outcome(at position: Int) -> Outcome? {
        outcomes.indices.contains(position - first) ? outcomes[position - first] : nil
    }

    /// Returns the outcomes for a slice made up of the given positions.
    func picked(at positions: [Int]) -> FailedCalls {
        FailedCalls(outcomes: positions.compactMap(outcome(at:)), first: 0)
    }
}

/// How many attempts had been made for an arrival when its outcome was decided.
struct AttemptCount: Sendable {
    /// The number of attempts that were started.
    let started: Int
    /// Whether the outcome comes from a plugin or middleware in the last attempt rather than from a decision of the
    /// supervisor.
    let isOutcomeOfLast: Bool

    /// The count for an arrival that is decided before its first attempt.
    static let none = AttemptCount(started: 0, isOutcomeOfLast: false)
}

/// A decision about arrivals that was made while a lock was held. The caller settles the arrivals after releasing the
/// lock.
struct Verdict: Sendable {
    let slice: BatchSlice
    let outcome: Outcome
    /// Whether the outcome comes from the last attempt.
    var isOfAttempt = false
    /// Whether the arrivals duplicate an arrival that has already been handled.
    var isDuplicate = false

    func settle() {
        guard isDuplicate else { return slice.settle(outcome, isOfAttempt: isOfAttempt) }
        for arrival in slice.arrivals[slice.range] {
            let delivery = CoalescedDelivery(arrival: arrival, sink: slice.sink)
            slice.settler.settleDuplicate(delivery, outcome, slice.plugin)
        }
    }
}
