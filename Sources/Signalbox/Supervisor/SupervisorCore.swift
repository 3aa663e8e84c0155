import Logging
import SignalboxCore
import Synchronization

/// The state that a supervisor shares with its intakes and lanes.
final class SupervisorCore: Sendable {
    let configuration: SupervisorConfiguration
    let logger: Logger
    /// Drives the timer.
    let clock: any Clock<Duration>
    let middleware = MiddlewareList()
    let deadLetters: DeadLetterStore
    /// Keeps messages on disk, or `nil` if all stay in memory.
    let store: (any MessageStore)?
    /// How many dead letters the store kept when it was last asked, which is once a second.
    let storedDeadLetters = Mutex<DeadLetterUse?>(nil)
    /// What waits for the store's disk.
    let pendingCommits = PendingCommits()
    /// The sources whose journal was searched for the message that ended an earlier run.
    let searchedSources = Mutex<Set<SourceName>>([])
    /// Limits how often dropped dead letters are logged.
    let drops: Mutex<CountReport>
    private let ticks = Atomic<UInt64>(0)

    /// The executor for the lanes' tasks, or `nil` for the default executor.
    let executor: (any TaskExecutor)?
    private let random: Mutex<any RandomNumberGenerator & Sendable>

    init(
        configuration: SupervisorConfiguration,
        logger: Logger,
        clock: any Clock<Duration>,
        simulation: SimulationEnvironment?
    ) {
        configuration.check()
        self.clock = clock
        executor = simulation?.executor
        random = Mutex(simulation?.random ?? SystemRandomNumberGenerator())
        self.configuration = configuration
        self.logger = logger
        ticksBetweenReports = TickCount.ticks(in: .seconds(1), of: configuration.tick)
        deadLetters = DeadLetterStore(limits: configuration.deadLetters)
        store = configuration.store
        ticksBetweenStallLines = TickCount.ticks(in: .seconds(60), of: configuration.tick)
        drops = Mutex(CountReport(ticksBetweenLines: ticksBetweenStallLines))
        if let store, store.keepsHistory { middleware.add(observer: HistoryObserver(store: store)) }
    }

    /// The current tick. Waits inside the supervisor use no other clock.
    var now: UInt64 { ticks.load(ordering: .relaxed) }

    /// How many ticks pass between two reports to a ``ReportObserver``, which corresponds to one second.
    let ticksBetweenReports: UInt64

    /// How many ticks pass between two log lines about the same stalled lane, which corresponds to one minute.
    let ticksBetweenStallLines: UInt64

    /// The number of whole seconds since the start, measured in ticks.
    var elapsedSeconds: Int64 { Int64((Double(now) * (configuration.tick / .seconds(1))).rounded(.down)) }

    /// Returns a random number in the range, used to add jitter to waits.
    func random(in range: ClosedRange<UInt64>) -> UInt64 {
        random.withLock { .random(in: range, using: &$0) }
    }

    /// Starts a task where the lanes' tasks run.
    func startTask(_ body: @escaping @Sendable () async -> Void) {
        if let executor {
            Task.detached(executorPreference: executor) { await body() }
        } else {
            Task.detached { await body() }
        }
    }

    /// Advances the timer by one tick, and returns the new tick.
    func advance() -> UInt64 { ticks.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// Supplies the executor for the lanes' tasks and the random numbers, so that a run can be repeated.
package struct SimulationEnvironment: Sendable {
    /// The executor for the lanes' tasks.
    package let executor: any TaskExecutor
    /// Generates the random waits between attempts.
    package let random: any RandomNumberGenerator & Sendable

    package init(executor: any TaskExecutor, random: any RandomNumberGenerator & Sendable) {
        self.executor = executor
        self.random = random
    }
}

/// Converts durations to ticks of the supervisor's timer.
enum TickCount {
    /// Returns the number of ticks in a duration, rounded up and at least one. The current tick has already started, so
    /// waiting for this many ticks may be up to one tick too short.
    static func ticks(in wait: Duration, of tick: Duration) -> UInt64 {
        let ticks = (wait / tick).rounded(.up)
        return ticks < 1 ? 1 : UInt64(min(ticks, 9e18))
    }
}
