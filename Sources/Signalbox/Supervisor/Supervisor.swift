public import Logging
public import ServiceLifecycle
public import SignalboxCore
import Synchronization

/// A service that routes each action to its registered plugin, bounds the call, and reports one outcome per arrival.
///
/// ```swift
/// let supervisor = Supervisor(logger: logger)
/// try supervisor.add(adapter)
/// try supervisor.register(Registration(PaymentPlugin(), from: .source("page")))
/// try await supervisor.run()
/// ```
///
/// A supervisor is independent of transports. Add sources with `add` or `intake(for:)` and plugins with `register`. You
/// can do so at any time, including while messages flow. Nothing is routed before ``run()``, so earlier arrivals wait
/// in the window of their source. A supervisor supervises calls and does not restart anything.
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
        /// The continuation of the adapters that wait to be run. The drain starts when this stream is finished.
        let starter: AsyncStream<SourceStart>.Continuation
        var starts: AsyncStream<SourceStart>?
        var runningAdapters = 0
        /// The number of source changes in progress. If a change removed the last adapter, the run ends with that
        /// adapter, because no replacement follows.
        var sourceChanges = 0
        /// The sources that are being removed, and the removed sources that still have unsettled arrivals.
        var leaving: [SourceIntake] = []
        /// The counters of every source ever added. If a source is added again, it continues its counts. If a call
        /// returns after its source was removed, it is still counted.
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
    ///   - clock: The clock of the timer. Pass a manual clock in tests.
    public convenience init(
        configuration: SupervisorConfiguration = SupervisorConfiguration(),
        logger: Logger,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(configuration: configuration, logger: logger, clock: clock, simulation: nil)
    }

    /// Creates a supervisor with a given task executor and given random numbers, so that a run can be repeated.
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

    /// The dead letters of this supervisor, which are kept in memory.
    public var deadLetters: DeadLetterStore { core.deadLetters }

    /// The outcomes of all arrivals so far, and the work that is still open.
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
    ///   - adapter: The adapter, whose source must not be present yet.
    ///   - window: The maximum amount of unsettled work from the source.
    ///   - rateLimit: The rate limit of the source, or `nil` for none.
    ///   - deduplication: Whether redelivered messages are deduplicated.
    /// - Throws: ``RegistrationError/duplicateSource(_:)`` if the source is present, or ``RegistrationError/closed`` if
    ///   the supervisor is draining or has stopped.
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
            // If a drain has started, it has finished the stream, so the adapter would never run.
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

    /// Returns an intake for a source that the caller runs without an adapter.
    ///
    /// - Throws: ``RegistrationError/duplicateSource(_:)`` if the source is present, or ``RegistrationError/closed`` if
    ///   the supervisor is draining or has stopped.
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
    /// The intakes, sorted so that their order is the same in each run.
    var intakesByName: [SourceIntake] { intakes.values.sorted { "\($0.source)" < "\($1.source)" } }
}

/// An adapter to run, together with the intake for its arrivals.
package struct SourceStart: Sendable {
    let adapter: any Adapter
    let intake: SourceIntake
}

/// The limits and timeouts of a supervisor. Creating a supervisor with a value that is out of range traps.
///
/// ```swift
/// var configuration = SupervisorConfiguration()
/// configuration.timeout = .seconds(10)
/// let supervisor = Supervisor(configuration: configuration, logger: logger)
/// ```
public struct SupervisorConfiguration: Sendable {
    /// The timeout of a call whose plugin sets none. It must be above zero, and the default is 3 s. A call is allowed
    /// at least its timeout and at most two ticks more.
    public var timeout: Duration = .seconds(3)
    /// The maximum duration of a drain. It must be at least zero, and the default is 10 s. Arrivals that are left
    /// afterwards are abandoned.
    public var drainLimit: Duration = .seconds(10)
    /// The ack deadline of a source that redelivers. It must be at least zero, and the default is 5 s.
    ///
    /// If the call of an arrival has not started this long after the arrival was submitted, the arrival is abandoned,
    /// so that the source redelivers it. A call in progress has a separate timeout. An arrival is therefore
    /// unacknowledged for at most the sum of both, plus two ticks.
    public var ackDeadline: Duration = .seconds(5)
    /// The interval of the timer that checks the lanes. The valid range is 1 ms to 60 s, and the default is 100 ms. A
    /// wait that starts between two ticks may be up to a tick too short, but a call is always allowed its full timeout.
    public var tick: Duration = .milliseconds(100)
    /// The limits of the dead letter store.
    public var deadLetters = DeadLetterLimits()
    /// The maximum number of log lines per second about one source's arrivals. It must be at least 1, and the default
    /// is 50. Lines that exceed the limit are counted, and a later line reports the count.
    public var logLinesPerSecond = 50
    /// A closure that is called for each arrival when it is decided, before the arrival's adapter is notified. The
    /// closure runs on any thread, and several calls may run at once, so it must not block.
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
