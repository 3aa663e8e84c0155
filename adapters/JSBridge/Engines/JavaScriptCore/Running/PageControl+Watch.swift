extension PageControl {
    /// Ends the page when a turn goes on although the engine should have ended it, as it does not see a chain of promises
    /// that never ends: each link enters it anew. A page that calls the program meanwhile can still be ended; the thread
    /// of another is given up.
    ///
    /// - Parameter limit: processor time of a turn. It is looked at seldom, so a turn may have some times as much.
    func watch(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: limit * 2)) != nil {
            guard let used = processorTime.used else { continue }
            let now = turn
            if now != seen.turn { seen = (now, used) }
            guard now % 2 == 1, used - seen.used > limit * 1.5 else { continue }
            endOverrun()
            // A long call of the library's own, such as a regular expression, ends by itself.
            if used - seen.used > limit * 1.5 + max(limit, .seconds(1)) { return leaveBehind() }
        }
    }

    /// Returns when a turn has gone on for a second beyond the limit, which no script that the library can end does, or when
    /// its task is cancelled.
    ///
    /// - Parameter limit: processor time of a turn, which is checked ten times in that time, and at most ten times a second.
    func untilOverrun(_ limit: Duration) async {
        var seen = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: max(limit / 10, .milliseconds(100)))) != nil {
            guard let used = processorTime.used else { continue }
            let now = turn
            if now != seen.turn { seen = (now, used) }
            if now % 2 == 1, used - seen.used > limit + .seconds(1) { return }
        }
    }
}
