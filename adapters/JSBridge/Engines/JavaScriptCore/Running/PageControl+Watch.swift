extension PageControl {
    /// Ends the page when a turn goes on although the engine should have ended it, as it does not see a chain of promises
    /// that never ends: each link enters it anew. A page that calls the program meanwhile can still be ended; the thread
    /// of another is given up.
    ///
    /// - Parameter limit: processor time of a turn. It is looked at seldom, so a turn may have four times as much.
    func watch(_ limit: Duration) async {
        var last = (turn: 0, used: Duration.zero)
        while (try? await Task.sleep(for: limit * 2)) != nil {
            guard let used = processorTime.used else { continue }
            let now = turn
            defer { last = (now, used) }
            guard now % 2 == 1, now == last.turn, used - last.used > limit * 1.5 else { continue }
            endOverrun()
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            if turn == now { return leaveBehind() }
        }
    }
}
