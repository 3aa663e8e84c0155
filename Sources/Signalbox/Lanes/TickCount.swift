/// Waits, counted in ticks of the supervisor's timer.
enum TickCount {
    /// Rounded up, at least one. What counts from the running tick may be up to one tick shorter than the wait.
    static func ticks(in wait: Duration, of tick: Duration) -> UInt64 {
        let ticks = (wait / tick).rounded(.up)
        return ticks < 1 ? 1 : UInt64(min(ticks, 9e18))
    }
}
