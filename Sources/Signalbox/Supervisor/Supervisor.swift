public import Logging
public import SignalboxCore
import Synchronization

/// Routes each action to the plugin registered for it, enforces the limits of the call, and reports exactly one outcome
/// per arrival.
///
/// ```swift
/// let supervisor = Supervisor(logger: logger)
/// try supervisor.add(adapter)
/// try supervisor.register(Registration(PaymentPlugin(), from: .source("page")))
/// try await supervisor.run()
/// ```
///
/// A supervisor does not depend on any transport. Add sources with `add` or `intake(for:)`, and plugins with
/// `register`. You can add both at any time, including while messages are being processed. Nothing is routed before
/// ``run()``, so arrivals that were submitted earlier wait in their source's window.
///
/// A supervisor only supervises calls. It does not restart anything.
public final class Supervisor: Sendable {
    let core: SupervisorCore
    let lanes: LaneTable
    let registry: Registry
    /// Replays dead letters, or `nil` if there is no store.
    let replays: ReplayRunner?
    let state: Mutex<State>

    enum Phase { case initial, running, draining, stopped }

    struct State: Sendable {
        var phase = Phase.initial
        /// The intakes by name. The list of all intakes is ``sources``.
        private(set) var intakes: [SourceName: SourceIntake] = [:]
        /// The intakes in an order that is the same in every run.
        private(set) var sources = Roster<SourceIntake>()
        /// The intakes whose arrivals may wait for a plugin, which are usually few.
        private(set) var holding = Roster<SourceIntake>()
        /// Passes new adapters to the run. Finishing this stream starts the drain.
        let starter: AsyncStream<SourceStart>.Continuation
        var starts: AsyncStream<SourceStart>?
        var runningAdapters = 0
        /// The intakes of ``PluginFedAdapter``s.
        var pluginFed: [SourceIntake] = []
        /// The intakes of the adapters that have not ended, removed sources included.
        var running = Roster<SourceIntake>()
        /// The number of source changes in progress. If a change has removed the last adapter, the run ends with that
        /// adapter unless a replacement follows.
        var sourceChanges = 0
        /// Sources that are being removed, and removed sources that still have unsettled arrivals.
        var leaving = Roster<SourceIntake>()
        /// The counters for every source that was ever added. A source that is added again continues its counts, and a
        /// call that returns after its source has been removed is still counted.
        var counters: [SourceName: OutcomeCounters] = [:]
        var firstFailure: (any Error)?
        /// The sources whose adapters a drain stops last.
        var stopsLast: Set<SourceName> = []
        /// The tick at which a drain abandons the remaining arrivals.
        var drainEnd: UInt64?
        /// What is called when the drain begins.
        var drainActions: [@Sendable () -> Void] = []

        init(starter: AsyncStream<SourceStart>.Continuation, starts: AsyncStream<SourceStart>) {
            self.starter = starter
            self.starts = starts
        }

        /// - Parameter holds: Whether arrivals may wait for a plugin.
        mutating func insert(_ intake: SourceIntake, holds: Bool) {
            intakes[intake.source] = intake
            sources.add(intake)
            if holds { holding.add(intake) }
        }

        mutating func forget(_ intake: SourceIntake) {
            if intakes[intake.source] === intake { intakes[intake.source] = nil }
            sources.remove(intake)
            holding.remove(intake)
        }
    }

    /// Creates a supervisor.
    ///
    /// - Parameters:
    ///   - configuration: The limits and timeouts.
    ///   - logger: The logger for dead letters, stalls and life cycle events.
    ///   - clock: The clock that drives the timer. Pass a manual clock in tests.
    public convenience init(
        configuration: SupervisorConfiguration = SupervisorConfiguration(),
        logger: Logger,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(configuration: configuration, logger: logger, clock: clock, simulation: nil)
    }

    /// Creates a supervisor with the given task executor and random numbers, so that a run can be repeated.
    package init(
        configuration: SupervisorConfiguration,
        logger: Logger,
        clock: any Clock<Duration>,
        simulation: SimulationEnvironment?
    ) {
        core = SupervisorCore(configuration: configuration, logger: logger, clock: clock, simulation: simulation)
        lanes = LaneTable()
        registry = Registry(lanes: lanes)
        replays = core.store.map(ReplayRunner.init)
        core.store?.observe { [logger] in StoreEvents.log($0, to: logger) }
        let (starts, starter) = AsyncStream.makeStream(of: SourceStart.self)
        state = Mutex(State(starter: starter, starts: starts))
    }

    /// The dead letters of this supervisor, which are kept in memory.
    public var deadLetters: DeadLetterStore { core.deadLetters }

    /// The outcomes of all arrivals so far, and the work that is still unfinished.
    public var report: SupervisorReport {
        let (intakes, counts) = state.withLock { ($0.everyIntake, $0.counts) }
        let running = lanes.all.flatMap { lane in lane.stalledSources.map { "\($0)/\(lane.entry.action)" } }
        let store = core.store as? any ReportingStore
        let problem = store?.writeProblem
        let windows = Dictionary(intakes.map { ($0.source, $0.settler.window.use) }, uniquingKeysWith: +)
        return SupervisorReport(
            total: counts.values.reduce(OutcomeCounts(), +),
            sources: counts,
            windows: windows,
            unsettled: windows.values.reduce(0) { $0 + $1.arrivals },
            callsStillRunning: running.sorted(),
            deadLetters: core.deadLetters.total,
            deadLettersDropped: core.deadLetters.dropped,
            storedDeadLetters: core.storedDeadLetters.withLock { $0 },
            storeProblem: problem,
            isStoreWritable: store.map { _ in problem == nil }
        )
    }
}

// MARK: - Sources

extension Supervisor {
    /// Adds an adapter, which runs until the supervisor ends or ``remove(source:)`` removes the adapter.
    ///
    /// - Parameters:
    ///   - adapter: The adapter, whose source must not have been added yet.
    ///   - window: The maximum amount of unsettled work from the source.
    ///   - rateLimit: The source's rate limit, or `nil` if its rate is not limited.
    ///   - deduplication: Whether redelivered messages are deduplicated.
    ///   - hold: How long messages wait for a plugin that is not registered yet, or `nil` to reject them at once.
    ///   - durability: Whether messages are written to the journal before they are acknowledged.
    /// - Throws: ``RegistrationError/duplicateSource(_:)`` if the source has already been added,
    ///   ``RegistrationError/closed`` if the supervisor is draining or has stopped, or
    ///   ``RegistrationError/journalUnavailable(_:)`` if the source cannot have a journal.
    public func add(
        _ adapter: any Adapter,
        window: WindowLimits = WindowLimits(),
        rateLimit: RateLimit? = nil,
        deduplication: DeduplicationPolicy = .automatic,
        hold: HoldLimits? = nil,
        durability: SourceDurability = .none
    ) throws(RegistrationError) {
        if durability.limits != nil, core.store == nil || !(adapter is any RestoringAdapter) {
            throw .journalUnavailable(adapter.source)
        }
        let options = SourceOptions(
            window: window,
            rateLimit: rateLimit,
            deduplication: deduplication,
            hold: hold,
            journal: durability.limits,
            maximumUnsettled: (adapter as? any InFlightLimitedAdapter)?.maximumUnsettled
        )
        let isPluginFed = adapter is any PluginFedAdapter
        let (source, features) = (adapter.source, adapter.features)
        let (intake, phase) = try state.withLock { (state) throws(RegistrationError) in
            let known = state.counters[source]
            let intake = try insert(source, features, options, adapter as? any RestoringAdapter, &state)
            // A drain finishes the stream when it starts, so after that the adapter would never run.
            guard case .enqueued = state.starter.yield(SourceStart(adapter: adapter, intake: intake)) else {
                state.forget(intake)
                state.counters[source] = known
                throw .closed
            }
            if isPluginFed { state.pluginFed.append(intake) } else { state.runningAdapters += 1 }
            return (intake, state.phase)
        }
        if phase == .running { intake.open() }
    }

    /// Sets the sources whose adapters a drain stops last, because plugins send through them.
    ///
    /// Use this method if a plugin forwards messages from one source to another. During a drain, the adapters of these
    /// sources keep their connections until every arrival of every source is settled, so that a call that is still
    /// waiting can send its message. ``SupervisorConfiguration/drainLimit`` limits this time. Meanwhile, a source that
    /// redelivers takes no more arrivals, and the arrivals of any other source are abandoned. The same applies to
    /// sources that are removed, see ``remove(sources:)``.
    ///
    /// - Parameter sources: The names, which replace those of an earlier call. The sources can be added later.
    public func stopLast(_ sources: Set<SourceName>) {
        state.withLock { $0.stopsLast = sources }
    }

    /// Returns an intake for a source that you run yourself, without an adapter.
    ///
    /// - Throws: ``RegistrationError/duplicateSource(_:)`` if the source has already been added, or
    ///   ``RegistrationError/closed`` if the supervisor is draining or has stopped.
    public func intake(
        for source: SourceName,
        features: AdapterFeatures = [],
        window: WindowLimits = WindowLimits(),
        rateLimit: RateLimit? = nil,
        deduplication: DeduplicationPolicy = .automatic,
        hold: HoldLimits? = nil
    ) throws(RegistrationError) -> any Intake {
        let options = SourceOptions(window: window, rateLimit: rateLimit, deduplication: deduplication, hold: hold)
        let (intake, phase) = try state.withLock { (state) throws(RegistrationError) in
            (try insert(source, features, options, nil, &state), state.phase)
        }
        if phase == .running { intake.open() }
        return intake
    }

    /// Adds a source whose adapter never runs, so that dead letters of this source can be replayed.
    package func addForReplay(_ adapter: any RestoringAdapter) throws(RegistrationError) {
        let options = SourceOptions(window: WindowLimits(), rateLimit: nil, deduplication: .automatic, hold: nil)
        let (intake, phase) = try state.withLock { (state) throws(RegistrationError) in
            (try insert(adapter.source, adapter.features, options, adapter, &state), state.phase)
        }
        if phase == .running { intake.open() }
    }

    private func insert(
        _ source: SourceName,
        _ features: AdapterFeatures,
        _ options: SourceOptions,
        _ adapter: (any RestoringAdapter)?,
        _ state: inout State
    ) throws(RegistrationError) -> SourceIntake {
        guard state.phase != .draining, state.phase != .stopped else { throw .closed }
        guard state.intakes[source] == nil else { throw .duplicateSource(source) }
        let counters = state.counters[source] ?? OutcomeCounters()
        let settler = Settler(source: source, core: core, features: features, options: options, counters: counters)
        let hold = options.hold.map { ActionHold($0, unsettled: options.maximumUnsettled, settler) }
        let intake = SourceIntake(settler, registry: registry, lanes: lanes, hold: hold, restoring: adapter)
        if let limits = options.journal, let store = core.store, let adapter {
            intake.setJournal(Journal(limits, store, intake, adapter))
        }
        state.insert(intake, holds: hold != nil)
        state.counters[source] = counters
        return intake
    }
}

/// An adapter to run, and the intake that receives its arrivals.
package struct SourceStart: Sendable {
    let adapter: any Adapter
    let intake: SourceIntake
}

/// The limits and timeouts of a supervisor. Creating a supervisor traps if a value is out of range.
///
/// ```swift
/// var configuration = SupervisorConfiguration()
/// configuration.timeout = .seconds(10)
/// let supervisor = Supervisor(configuration: configuration, logger: logger)
/// ```
public struct SupervisorConfiguration: Sendable {
    /// The timeout of a call whose plugin does not set one. Must be greater than zero; the default is 3 s. A call can
    /// run for at least its timeout and at most two ticks longer.
    public var timeout: Duration = .seconds(3)
    /// The maximum duration of a drain. Must be at least zero; the default is 10 s. Arrivals that are left at the end
    /// of this time are abandoned.
    public var drainLimit: Duration = .seconds(10)
    /// How long an arrival from a source that redelivers can wait for its call to start. Must be at least zero; the
    /// default is 5 s.
    ///
    /// If the call has not started this long after the arrival was submitted, the arrival is abandoned, so that the
    /// source redelivers it. A call in progress has a separate timeout, so an arrival stays unacknowledged for at most
    /// the sum of this deadline and that timeout, plus two ticks.
    public var ackDeadline: Duration = .seconds(5)
    /// The interval of the timer that checks the lanes. Must be between 1 ms and 60 s; the default is 100 ms. A wait
    /// that starts between two ticks may be up to one tick too short, but a call always gets its full timeout.
    public var tick: Duration = .milliseconds(100)
    /// The limits of the dead letter store.
    public var deadLetters = DeadLetterLimits()
    /// Keeps messages on disk, or `nil` to keep all in memory, which is the default.
    ///
    /// With a store, dead letters are on disk before their messages are acknowledged, and ids of handled messages are remembered
    /// across runs. Sources can have a journal (``SourceDurability/journal(_:)``). `SignalboxStore` has a store that uses SQLite. Use
    /// a store with one supervisor only.
    public var store: (any MessageStore)?
    /// The maximum number of log lines per second about one source's arrivals. Must be at least 1; the default is 50.
    /// Lines over the limit are counted, and a later line reports how many there were.
    public var logLinesPerSecond = 50
    /// Called for each arrival when it is decided, before the arrival's adapter is notified. The closure can be called
    /// on any thread, and concurrently, so it must not block.
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
