extension FeedRun {
    // The last of them comes at most 1 s after the first.
    private static let farewellTicks = 2

    /// The graceful stop: nothing more is read, and what the intake does not take now it does not take at all.
    func stop() {
        guard !isOver else { return }
        if !isEnding { halt() }
        feeder.close()
    }

    /// Reads no more, and makes no connection.
    func halt() {
        switch phase {
        case .preparing(_, let ticket):
            if let ticket { plan.surroundings.lookups.forget(ticket) }
        case .connecting(let id, _, _, _): giveUp(id)
        case .open, .waiting, .halted, .leaving, .over: break
        }
        attempt += 1
        phase = .halted
        if let current = open {
            // Nothing of it comes any more, so that this is the last.
            announceClosed(.transport(.closedHere(.goingAway, reason: "")))
            current.reading.flow.pause(.end)
        }
        // Whoever waits for the outcomes of what was read must find it counted.
        feeder.passEnded()
        plan.halted.set(())
    }

    /// All that was read is settled: the connection is closed after what waits to be sent on it.
    func leave() {
        guard !isOver else { return }
        guard let current = open else { return finish() }
        phase = .leaving(ticks: 0)
        sender.perform(.close(.goingAway, reason: ""), on: current.id)
    }

    func leaving(_ ticks: Int) {
        guard ticks >= FeedRun.farewellTicks, let current = open else {
            phase = .leaving(ticks: ticks)
            return
        }
        giveUp(current.id)
        finish()
    }

    func finish() {
        forgetConnection()
        phase = .over
        if feeder.notTaken > 0 {
            plan.state.count { $0.notTaken += feeder.notTaken }
            log.leftOver(feeder.notTaken)
        }
        if wasConnected && error == nil { log.stopped() }
        plan.over.set(error)
    }
}
