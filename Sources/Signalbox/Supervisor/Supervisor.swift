public import Logging
public import ServiceLifecycle
public import SignalboxCore
import Synchronization

/// Routes every action to the plugin registered for it, bounds the call, and reports the one outcome of each arrival.
///
/// It knows no transport. Sources come in through `add` or `intake(for:)`, plugins through `register`; both also while
/// messages flow. Nothing is routed before ``run()``: what arrives earlier waits in its source's window. The name comes
/// from the plugin pattern: it supervises calls and does not restart anything.
public final class Supervisor: Service, Sendable {
    let core: SupervisorCore
    let clock: any Clock<Duration>
    let state: Mutex<State>

    enum Phase { case initial, running, draining, stopped }

    struct State: Sendable {
        var phase = Phase.initial
        var intakes: [SourceName: SourceIntake] = [:]
        /// Adapters on their way to ``run()``; finishing it is what begins the drain.
        let starter: AsyncStream<SourceStart>.Continuation
        var starts: AsyncStream<SourceStart>?
        var runningAdapters = 0
        /// Sources were changed in one step, so that nobody is about to add one in the place of one that was removed.
        var endsWithRemovals = false
        /// Those that are being removed, and those that were and still have something inside.
        var leaving: [SourceIntake] = []
        /// Of every source that was ever there: one that is added again goes on with its own, and a call that returns when
        /// its source is long removed is still counted.
        var counters: [SourceName: OutcomeCounters] = [:]
        var firstFailure: (any Error)?
        /// The tick from which on a drain abandons what is left.
        var drainEnd: UInt64?
    }

    /// - Parameters:
    ///   - configuration: bounds and waits.
    ///   - logger: where dead letters, stalls and lifetime are reported.
    ///   - clock: what the timer of calls waits on; tests pass one they move by hand.
    public init(
        configuration: SupervisorConfiguration = SupervisorConfiguration(),
        logger: Logger,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        core = SupervisorCore(configuration: configuration, logger: logger, determinism: nil)
        self.clock = clock
        let (starts, starter) = AsyncStream.makeStream(of: SourceStart.self)
        state = Mutex(State(starter: starter, starts: starts))
    }

    /// A supervisor whose tasks and random numbers are the caller's, so that a run can be repeated.
    package init(
        configuration: SupervisorConfiguration,
        logger: Logger,
        clock: any Clock<Duration>,
        determinism: Determinism
    ) {
        core = SupervisorCore(configuration: configuration, logger: logger, determinism: determinism)
        self.clock = clock
        let (starts, starter) = AsyncStream.makeStream(of: SourceStart.self)
        state = Mutex(State(starter: starter, starts: starts))
    }

    /// The dead letters kept in memory.
    public var deadLetters: DeadLetterStore { core.deadLetters }

    /// What has become of all arrivals so far.
    public var report: SupervisorReport {
        let (intakes, counts) = state.withLock { ($0.everyIntake, $0.counts) }
        let running = core.lanes.all.flatMap { lane in lane.stalledSources.map { "\($0)/\(lane.entry.action)" } }
        return SupervisorReport(
            total: counts.values.reduce(OutcomeCounts(), +),
            sources: counts,
            windows: Dictionary(intakes.map { ($0.source, $0.window.use) }, uniquingKeysWith: +),
            unsettled: intakes.reduce(0) { $0 + $1.window.count },
            callsStillRunning: running.sorted(),
            deadLetters: core.deadLetters.total,
            deadLettersDropped: core.deadLetters.dropped
        )
    }
}

// MARK: - Sources

extension Supervisor {
    /// Adds an adapter, which runs as long as the supervisor does, or until ``remove(source:)``.
    ///
    /// - Parameters:
    ///   - adapter: its source must not be there yet.
    ///   - window: how much of it may be inside at once.
    ///   - rateLimit: how much of it is let in; all of it when `nil`.
    ///   - repeats: whether messages that come again are recognised.
    /// - Throws: ``RegistrationError/duplicateSource(_:)``, or ``RegistrationError/closed`` when the supervisor drains or has
    ///   stopped.
    public func add(
        _ adapter: any Adapter,
        window: WindowLimits = WindowLimits(),
        rateLimit: RateLimit? = nil,
        repeats: RepeatPolicy = .automatic
    ) throws(RegistrationError) {
        let options = SourceOptions(window: window, rateLimit: rateLimit, repeats: repeats)
        let (source, features) = (adapter.source, adapter.features)
        let (intake, phase) = try state.withLock { (state) throws(RegistrationError) in
            let known = state.counters[source]
            let intake = try state.insert(source, features, options, core)
            // A drain that has begun has finished the stream, and nobody would run the adapter.
            guard case .enqueued = state.starter.yield(SourceStart(adapter: adapter, intake: intake)) else {
                state.intakes[source] = nil
                state.counters[source] = known
                throw .closed
            }
            state.runningAdapters += 1
            return (intake, state.phase)
        }
        if phase == .running { intake.open() }
    }

    /// The way in for a source that the caller runs itself.
    ///
    /// - Throws: ``RegistrationError/duplicateSource(_:)``, or ``RegistrationError/closed`` when the supervisor drains or has
    ///   stopped.
    public func intake(
        for source: SourceName,
        features: AdapterFeatures = [],
        window: WindowLimits = WindowLimits(),
        rateLimit: RateLimit? = nil,
        repeats: RepeatPolicy = .automatic
    ) throws(RegistrationError) -> any Intake {
        let options = SourceOptions(window: window, rateLimit: rateLimit, repeats: repeats)
        let (intake, phase) = try state.withLock { (state) throws(RegistrationError) in
            (try state.insert(source, features, options, core), state.phase)
        }
        if phase == .running { intake.open() }
        return intake
    }
}

extension Supervisor.State {
    /// In an order that is the same in each run.
    var intakesByName: [SourceIntake] { intakes.values.sorted { "\($0.source)" < "\($1.source)" } }

    mutating func insert(
        _ source: SourceName,
        _ features: AdapterFeatures,
        _ options: SourceOptions,
        _ core: SupervisorCore
    ) throws(RegistrationError) -> SourceIntake {
        guard phase != .draining, phase != .stopped else { throw .closed }
        guard intakes[source] == nil else { throw .duplicateSource(source) }
        let counters = counters[source] ?? OutcomeCounters()
        let intake = SourceIntake(source: source, core: core, features: features, options: options, counters: counters)
        intakes[source] = intake
        self.counters[source] = counters
        return intake
    }
}

/// An adapter on its way to the run, and where its arrivals go.
package struct SourceStart: Sendable {
    let adapter: any Adapter
    let intake: SourceIntake
}

/// The bounds and waits of a supervisor, which traps when one is not in its range.
public struct SupervisorConfiguration: Sendable {
    /// How long a plugin's call may take when its registration names no other time, above zero; 3 s by default. A call has at least
    /// this long and at most two ticks more.
    public var timeout: Duration = .seconds(3)
    /// How long a drain waits for what has begun or waits, at least zero; 10 s by default. What is left then is abandoned.
    public var drainLimit: Duration = .seconds(10)
    /// How long a source that can redeliver holds an arrival that has not begun, from its submission, at least zero; 5 s by
    /// default. What has not begun by then is abandoned, so that the source sends it again; a call that has begun has its
    /// timeout, so that the longest hold is both together and two ticks.
    public var holdLimit: Duration = .seconds(5)
    /// How often the one timer looks at the lanes, 1 ms to 60 s; 100 ms by default. Waits that begin between two ticks may be
    /// shorter by up to a tick; a call's timeout never is.
    public var tick: Duration = .milliseconds(100)
    /// What the store of dead letters keeps.
    public var deadLetters = DeadLetterLimits()
    /// The most log lines a second that a source's dead letters may cause, at least 1; 50 by default. What is over is
    /// counted and told in one line.
    public var logLinesPerSecond = 50
    /// Told of every arrival when it is decided, before its adapter is. Called on any thread, also at the same time on
    /// several; must not block.
    public var onOutcome: (@Sendable (SettledArrival) -> Void)?

    /// The defaults.
    public init() {}

    func check() {
        precondition(timeout > .zero, "a call may take more than no time")
        precondition(drainLimit >= .zero && holdLimit >= .zero, "the drain and hold limits are not below zero")
        precondition((.milliseconds(1) ... .seconds(60)).contains(tick), "a tick is 1 ms to 60 s")
        precondition(logLinesPerSecond >= 1, "at least 1 log line a second")
    }
}
