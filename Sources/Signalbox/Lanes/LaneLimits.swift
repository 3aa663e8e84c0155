/// A lane's waits, counted in ticks of the supervisor's timer.
struct LaneLimits: Sendable, Hashable {
    /// How long a call may take; what is overdue is settled as failed.
    let timeout: Duration
    /// The same, in ticks, rounded up: a call is never cut short.
    let timeoutTicks: UInt64
    /// How long an arrival may wait before it is abandoned, or `nil` when its source can wait for ever.
    let holdTicks: UInt64?

    init(timeout: Duration, holdLimit: Duration?, tick: Duration) {
        self.timeout = timeout
        timeoutTicks = LaneLimits.ticks(in: timeout, of: tick)
        holdTicks = holdLimit.map { LaneLimits.ticks(in: $0, of: tick) }
    }

    static func ticks(in wait: Duration, of tick: Duration) -> UInt64 {
        let ticks = (wait / tick).rounded(.up)
        return ticks < 1 ? 1 : UInt64(ticks)
    }
}
