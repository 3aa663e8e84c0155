public import Logging
public import ServiceLifecycle
public import SignalboxCore
import Synchronization

/// A service that routes each action to its registered plugin, bounds the call, and reports one outcome per arrival.
///
/// A supervisor is independent of transports. Add sources with `add` or `intake(for:)` and plugins with `register`, at
/// any time, including while messages flow. Nothing is routed before ``run()``: earlier arrivals wait in their source's
/// window. A supervisor supervises calls, as in the plugin pattern; it does not restart anything.
public final class Supervisor: Service, Sendable {
    let core: SupervisorCore
    let lanes: LaneTable
    let registry: Registry
    let clock: any Clock<Duration>
    let state: Mutex<State>

    enum Phase { case initial, running, draining, stopped }

    struct State: Sendable {
        var phase = Phase.initial
        var intakes: [SourceName: SourceIntake] = [:]
        /// The adapters waiting to be run. Finishing the stream starts the drain.
        let starter: AsyncStream<SourceStart>.Continuation
        var starts: AsyncStream<SourceStart>?
        var runningAdapters = 0
        /// The number of source changes in progress. The run ends with the last adapter that a change removed, because
        /// no replacement follows.
        var sourceChanges = 0
        /// The sources being removed, and removed sources with unsettled arrivals.
        var leaving: [SourceIntake] = []
        /// The counters of every source ever added. A source that is added again continues its counts, and a late
        /// return is counted after its source is removed.
        var counters: [SourceName: OutcomeCounters] = [:]
        var firstFailure: (any Error)?
        /// The tick at which a drain abandons the remaining arrivals.
        var drainEnd: UInt64?
    }

    /// Creates a supervisor.
    ///
    /// - Parameters:
    ///   - configuration: The limits and timeouts.
    ///   - logger: The logger for dead letters, stalls and life cycle events.
    ///   - clock: The clock of the timer; tests pass a manual clock.
    public convenience init(
        configuration: SupervisorConfiguration = SupervisorConfiguration(),
        logger: Logger,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(configuration: configuration, logger: logger, clock: clock, simulation: nil)
    }

    /// Creates a supervisor whose task executor and random numbers may be given, so that a run can be repeated.
    package init(
        configuration: SupervisorConfiguration,
        logger: Logger,
        clock: any Clock<Duration>,
        simulation: SimulationEnvironment?
    ) {
        core = SupervisorCore(configuration: configuration, logger: logger, simulation: simulation)
        lanes = LaneTable()
        registry = Registry(lanes: lanes)
        self.clock = clock
        let (starts, starter) = AsyncStream.makeStream(of: SourceStart.self)
        state = Mutex(State(starter: starter, starts: starts))
    }

    /// The dead letters in memory.
    public var deadLetters: DeadLetterStore { core.deadLetters }

    /// The outcomes of all arrivals so far, and the open work.
    public var report: SupervisorReport {
        let (intakes, counts) = state.withLock { ($0.everyIntake, $0.counts) }
        let running = lanes.all.flatMap { lane in lane.stalledSources.map { "\($0)/\(lane.entry.action)" } }
        let windows = Dictionary(intakes.map { ($0.source, $0.settler.window.use) }, uniquingKeysWith: +)
        return SupervisorReport(
            total: counts.values.reduce(OutcomeCounts(), +),
            sources: counts,
            windows: windows,
            unsettled: windows.values.reduce(0) { $0 + $1.arrivals },
            callsStillRunning: running.sorted(),
            deadLetters: core.deadLetters.total,
            deadLettersDropped: core.deadLetters.dropped
        )
    }
}

// MARK: - Sources

extension Supervisor {
    /// Adds an adapter, which runs until the supervisor ends or ``remove(source:)`` removes it.
    ///
    /// - Parameters:
    ///   - adapter: The adapter; its source must not be present yet.
    ///   - window: The maximum amount of unsettled work from the source.
    ///   - rateLimit: The source's rate limit, or `nil` for none.
    ///   - deduplication: Whether redelivered messages are deduplicated.
    /// - Throws: ``RegistrationError/duplicateSource(_:)``, or ``RegistrationError/closed`` if the supervisor is
    ///   draining or has stopped.
    public func add(
        _ adapter: any Adapter,
        window: WindowLimits = WindowLimits(),
        rateLimit: RateLimit? = nil,
        deduplication: DeduplicationPolicy = .automatic
    ) throws(RegistrationError) {
        let options = SourceOptions(window: window, rateLimit: rateLimit, deduplication: deduplication)
        let (source, features) = (adapter.source, adapter.features)
        let (intake, phase) = try state.withLock { (state) throws(RegistrationError) in
            let known = state.counters[source]
            let intake = try insert(source, features, options, &state)
            // A drain that has started has finished the stream, so the adapter would never run.
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

    /// Returns an intake for a source that the caller runs itself.
    ///
    /// - Throws: ``RegistrationError/duplicateSource(_:)``, or ``RegistrationError/closed`` if the supervisor is
    ///   draining or has stopped.
    public func intake(
        for source: SourceName,
        features: AdapterFeatures = [],
        window: WindowLimits = WindowLimits(),
        rateLimit: RateLimit? = nil,
        deduplication: DeduplicationPolicy = .automatic
    ) throws(RegistrationError) -> any Intake {
        let options = SourceOptions(window: window, rateLimit: rateLimit, deduplication: deduplication)
        let (intake, phase) = try state.withLock { (state) throws(RegistrationError) in
            (try insert(source, features, options, &state), state.phase)
        }
        if phase == .running { intake.open() }
        return intake
    }

    private func insert(
        _ source: SourceName,
        _ features: AdapterFeatures,
        _ options: SourceOptions,
        _ state: inout State
    ) throws(RegistrationError) -> SourceIntake {
        guard state.phase != .draining, state.phase != .stopped else { throw .closed }
        guard state.intakes[source] == nil else { throw .duplicateSource(source) }
        let counters = state.counters[source] ?? OutcomeCounters()
        let settler = Settler(source: source, core: core, features: features, options: options, counters: counters)
        let intake = SourceIntake(settler, registry: registry, lanes: lanes)
        state.intakes[source] = intake
        state.counters[source] = counters
        return intake
    }
}

extension Supervisor.State {
    /// The intakes in an order that is the same in each run.
    var intakesByName: [SourceIntake] { intakes.values.sorted { "\($0.source)" < "\($1.source)" } }
}

/// An adapter to run, and the intake for its arrivals.
package struct SourceStart: Sendable {
    let adapter: any Adapter
    let intake: SourceIntake
}

/// The limits and timeouts of a supervisor. Creating a supervisor with a value out of range traps.
public struct SupervisorConfiguration: Sendable {
    /// The timeout of a call whose plugin sets none, above zero; 3 s by default. A call is allowed at least its timeout
    /// and at most two ticks more.
    public var timeout: Duration = .seconds(3)
    /// The maximum duration of a drain, at least zero; 10 s by default. Arrivals left after it are abandoned.
    public var drainLimit: Duration = .seconds(10)
    /// The ack deadline of a source that redelivers, at least zero; 5 s by default. An arrival whose call has not
    /// started this long after its submission is abandoned, so that the source redelivers it. A call in progress has
    /// its own timeout, so an arrival is unacknowledged for at most the sum of both plus two ticks.
    public var ackDeadline: Duration = .seconds(5)
    /// The interval of the timer that checks the lanes, 1 ms to 60 s; 100 ms by default. A wait that starts between two
    /// ticks may be up to a tick too short; a call's timeout never is.
    public var tick: Duration = .milliseconds(100)
    /// The limits of the dead letter store.
    public var deadLetters = DeadLetterLimits()
    /// The maximum number of log lines per second about one source's arrivals, at least 1; 50 by default. Lines over
    /// the limit are counted, and a later line reports the count.
    public var logLinesPerSecond = 50
    /// A closure that is called for each arrival when it is decided, before its adapter is notified. It runs on any
    /// thread, concurrently with itself, and must not block.
    public var onOutcome: (@Sendable (SettledArrival) -> Void)?

    /// Creates a configuration with the default values.
    public init() {}

    func check() {
        precondition(timeout > .zero, "the timeout of a call must be positive")
        precondition(
            drainLimit >= .zero && ackDeadline >= .zero,
            "the drain limit and the ack deadline must not be negative"
        )
        precondition((.milliseconds(1) ... .seconds(60)).contains(tick), "a tick must be 1 ms to 60 s")
        precondition(logLinesPerSecond >= 1, "the log lines per second must be at least 1")
    }
}
