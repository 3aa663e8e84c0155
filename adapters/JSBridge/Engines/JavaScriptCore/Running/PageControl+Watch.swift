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
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            if turn == now { return leaveBehind() }
        }
    }
}
