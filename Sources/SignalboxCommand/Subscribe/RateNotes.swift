/// Says on stderr once a second how many messages came, as long as it runs.
struct RateNotes: Sendable {
    private static let interval: Duration = .seconds(1)

    /// How many messages came since the beginning.
    let count: @Sendable () -> Int

    /// Writes one line a second, until the task is cancelled.
    func run() async {
        let clock = ContinuousClock()
        var (before, moment) = (count(), clock.now)
        while true {
            do {
                try await clock.sleep(until: moment + RateNotes.interval)
            } catch {
                return
            }
            let (now, next) = (count(), clock.now)
            DiagnosticOutput.shared.tell(RateNotes.line(new: now - before, within: next - moment, all: now))
            (before, moment) = (now, next)
        }
    }

    /// The line about a time that may have been longer than a second.
    static func line(new: Int, within time: Duration, all: Int) -> String {
        let perSecond = time > .zero ? Int((Double(new) / (time / .seconds(1))).rounded()) : 0
        return "\(perSecond) messages/s, \(all) in all"
    }
}
