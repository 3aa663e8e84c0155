import Logging
import SignalboxCore
import Synchronization

/// The state that a supervisor shares with its intakes and lanes.
final class SupervisorCore: Sendable {
    let configuration: SupervisorConfiguration
    let logger: Logger
    let middleware = MiddlewareList()
    let deadLetters: DeadLetterStore
    /// The limit on log lines about dropped dead letters.
    let drops: Mutex<CountReport>
    private let ticks = Atomic<UInt64>(0)

    /// The executor of the lanes' tasks, or `nil` for the default executor.
    let executor: (any TaskExecutor)?
    private let random: Mutex<any RandomNumberGenerator & Sendable>

    init(configuration: SupervisorConfiguration, logger: Logger, simulation: SimulationEnvironment?) {
        configuration.check()
        executor = simulation?.executor
        random = Mutex(simulation?.random ?? SystemRandomNumberGenerator())
        self.configuration = configuration
        self.logger = logger
        ticksBetweenReports = TickCount.ticks(in: .seconds(1), of: configuration.tick)
        deadLetters = DeadLetterStore(limits: configuration.deadLetters)
        ticksBetweenStallLines = TickCount.ticks(in: .seconds(60), of: configuration.tick)
        drops = Mutex(CountReport(ticksBetweenLines: ticksBetweenStallLines))
    }

    /// The current tick, which is the supervisor's only clock for waits.
    var now: UInt64 { ticks.load(ordering: .relaxed) }

    /// The number of ticks between two reports to a ``ReportObserver``, which corresponds to one second.
    let ticksBetweenReports: UInt64

    /// The number of ticks between two log lines about the same stalled lane, which corresponds to one minute.
    let ticksBetweenStallLines: UInt64

    /// The number of whole seconds since the start, counted in ticks.
    var elapsedSeconds: Int64 { Int64((Double(now) * (configuration.tick / .seconds(1))).rounded(.down)) }

    /// Returns a random number in the range, for the jitter of waits.
    func random(in range: ClosedRange<UInt64>) -> UInt64 {
        random.withLock { .random(in: range, using: &$0) }
    }

    /// Advances the timer and returns the new tick.
    func advance() -> UInt64 { ticks.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// The inputs that make a run repeatable: the executor of the lanes' tasks and the random numbers.
package struct SimulationEnvironment: Sendable {
    /// The executor of the lanes' tasks.
    package let executor: any TaskExecutor
    /// The generator for the waits between attempts.
    package let random: any RandomNumberGenerator & Sendable

    package init(executor: any TaskExecutor, random: any RandomNumberGenerator & Sendable) {
        self.executor = executor
        self.random = random
    }
}

/// Conversion of durations to ticks of the supervisor's timer.
enum TickCount {
    /// Returns the number of ticks in a duration, rounded up and at least one. The current tick has already started, so
    /// a wait of this many ticks may be up to one tick too short.
    static func ticks(in wait: Duration, of tick: Duration) -> UInt64 {
        let ticks = (wait / tick).rounded(.up)
        return ticks < 1 ? 1 : UInt64(min(ticks, 9e18))
    }
}
