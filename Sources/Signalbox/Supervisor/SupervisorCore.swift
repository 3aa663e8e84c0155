import Logging
import SignalboxCore
import Synchronization

/// What the supervisor, its intakes and its lanes share.
final class SupervisorCore: Sendable {
    let configuration: SupervisorConfiguration
    let logger: Logger
    let registry = Registry()
    let deadLetters: DeadLetterStore
    private let ticks = Atomic<UInt64>(0)

    init(configuration: SupervisorConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        deadLetters = DeadLetterStore(limits: configuration.deadLetters)
    }

    /// The timer's count of ticks: the supervisor's only clock for waits.
    var now: UInt64 { ticks.load(ordering: .relaxed) }

    /// Whole seconds by the timer's count.
    var secondsRun: Int64 { Int64((Double(now) * (configuration.tick / .seconds(1))).rounded(.down)) }

    /// The timer's next tick.
    func advance() -> UInt64 { ticks.wrappingAdd(1, ordering: .relaxed).newValue }
}
