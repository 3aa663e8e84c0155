extension SupervisorConfiguration {
    /// Longer than any program runs: so that ticks can be added up without a look at their number.
    private static let mostTicks: UInt64 = 1 << 62

    /// How many ticks of the timer a wait has: at least 1, rounded up.
    func ticks(in wait: Duration) -> UInt64 {
        let ticks = (wait / tick).rounded(.up)
        guard ticks > 1 else { return 1 }
        return ticks < Double(SupervisorConfiguration.mostTicks) ? UInt64(ticks) : SupervisorConfiguration.mostTicks
    }
}
