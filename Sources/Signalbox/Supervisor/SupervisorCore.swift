import Logging
import SignalboxCore
import Synchronization

/// What the supervisor, its intakes and its lanes share.
final class SupervisorCore: Sendable {
    let configuration: SupervisorConfiguration
    let logger: Logger
    let lanes = LaneTable()
    let registry: Registry
    let middleware = MiddlewareList()
    let deadLetters: DeadLetterStore
    /// When the log tells of dead letters that were dropped.
    let drops: Mutex<CountReport>
    private let ticks = Atomic<UInt64>(0)

    /// Where the lanes' tasks run; anywhere when `nil`.
    let executor: (any TaskExecutor)?
    private let random: Mutex<SeededRandom>

    init(configuration: SupervisorConfiguration, logger: Logger, determinism: Determinism?) {
        configuration.check()
        executor = determinism?.executor
        random = Mutex(SeededRandom(seed: determinism?.seed ?? .random(in: .min ... .max)))
        registry = Registry(lanes: lanes)
        self.configuration = configuration
        self.logger = logger
        ticksBetweenReports = TickCount.ticks(in: .seconds(1), of: configuration.tick)
        deadLetters = DeadLetterStore(limits: configuration.deadLetters)
        ticksBetweenStallLines = TickCount.ticks(in: .seconds(60), of: configuration.tick)
        drops = Mutex(CountReport(ticksBetweenLines: ticksBetweenStallLines))
    }

    /// The timer's count of ticks: the supervisor's only clock for waits.
    var now: UInt64 { ticks.load(ordering: .relaxed) }

    /// How many ticks lie between two reports to ``ReportObserver``s: a second.
    let ticksBetweenReports: UInt64

    /// How many ticks lie between two log lines about one stalled lane: a minute.
    let ticksBetweenStallLines: UInt64

    /// Whole seconds by the timer's count.
    var secondsRun: Int64 { Int64((Double(now) * (configuration.tick / .seconds(1))).rounded(.down)) }

    /// A random number of the range, for waits.
    func random(in range: ClosedRange<UInt64>) -> UInt64 {
        random.withLock { .random(in: range, using: &$0) }
    }

    /// The timer's next tick.
    func advance() -> UInt64 { ticks.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// What makes a run of a supervisor repeatable: where its lanes' tasks run, and where its random numbers begin.
package struct Determinism: Sendable {
    /// Runs the lanes' tasks.
    package let executor: any TaskExecutor
    /// The seed of the waits between attempts.
    package let seed: UInt64

    package init(executor: any TaskExecutor, seed: UInt64) {
        self.executor = executor
        self.seed = seed
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014): small, repeatable, good enough for waits, of no use for secrets.
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// Waits, counted in ticks of the supervisor's timer.
enum TickCount {
    /// Rounded up, at least one. What counts from the running tick may be up to one tick shorter than the wait.
    static func ticks(in wait: Duration, of tick: Duration) -> UInt64 {
        let ticks = (wait / tick).rounded(.up)
        return ticks < 1 ? 1 : UInt64(min(ticks, 9e18))
    }
}
