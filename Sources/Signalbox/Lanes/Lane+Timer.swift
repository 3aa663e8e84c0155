import SignalboxCore
import Synchronization

extension Lane {
    /// How many ticks lie between two log lines about the same stalled lane.
    private static let ticksBetweenReports: UInt64 = 600

    /// What the timer does at each tick: settles a call that is overdue, and lets go of what has waited too long.
    ///
    /// A call counts from the tick at which it is first seen, so it has at least its timeout and at most two ticks more,
    /// and needs no look at the clock of its own.
    func tick(_ now: UInt64) {
        let verdicts = queue.withLock { queue -> [LaneVerdict] in
            let word = CallWord(rawValue: call.load(ordering: .acquiring))
            if word.phase == .running || word.phase == .interrupted {
                if word.number != queue.lastSeenCall {
                    queue.lastSeenCall = word.number
                    queue.lastSeenTick = now
                } else if now - queue.lastSeenTick >= limits.timeoutTicks {
                    let verdicts = expire(word, &queue, running: overdue, waiting: unavailable)
                    queue.unreported += verdicts.dropFirst().reduce(0) { $0 + $1.run.range.count }
                    return verdicts
                }
            }
            return letGo(word, &queue, at: now)
        }
        settle(verdicts)
        reportStall(at: now)
    }

    /// Settles all that is in the lane with one outcome, the call in progress too.
    ///
    /// Between two calls the task cannot be stopped: then only what waits behind its run is settled, and the caller tries
    /// again at the next tick.
    func abandon(_ reason: Outcome.Abandonment) {
        let verdicts = queue.withLock { queue -> [LaneVerdict] in
            let outcome = Outcome.abandoned(reason)
            let word = CallWord(rawValue: call.load(ordering: .acquiring))
            let verdicts = expire(word, &queue, running: outcome, waiting: outcome)
            guard verdicts.isEmpty else { return verdicts }
            return queue.takeWaiting { _ in true }.map { LaneVerdict(run: $0, outcome: outcome) }
        }
        settle(verdicts)
    }

    private var overdue: Outcome {
        .failed(Outcome.Failure(.timeout, detail: "plugin \(entry.action) did not return within \(limits.timeout)"))
    }

    /// Takes the call in progress away from the task, and with it all that waits.
    private func expire(
        _ word: CallWord,
        _ queue: inout LaneQueue,
        running: Outcome,
        waiting: Outcome
    ) -> [LaneVerdict] {
        guard word.phase == .running || word.phase == .interrupted, mark(word, .expired) else { return [] }
        queue.isStalled = true
        queue.reportedTick = nil
        var verdicts: [LaneVerdict] = []
        let rest = queue.takeRestOfCurrent(behindCall: word.number)
        if let called = queue.calledOfCurrent(word.number) {
            verdicts.append(LaneVerdict(run: called, outcome: running))
        }
        let unbegun = (rest.map { [$0] } ?? []) + queue.takeWaiting { _ in true }
        return verdicts + unbegun.map { LaneVerdict(run: $0, outcome: waiting) }
    }

    /// Abandons what has waited longer than its source may hold it. The call in progress goes on.
    private func letGo(_ word: CallWord, _ queue: inout LaneQueue, at now: UInt64) -> [LaneVerdict] {
        guard let holdTicks = limits.holdTicks else { return [] }
        let isTooOld = { (run: LaneRun) in now - run.tick >= holdTicks }
        var runs: [LaneRun] = []
        if let current = queue.current, isTooOld(current), word.phase == .running, mark(word, .interrupted) {
            if let rest = queue.takeRestOfCurrent(behindCall: word.number) { runs.append(rest) }
        }
        runs += queue.takeWaiting(where: isTooOld)
        return runs.map { LaneVerdict(run: $0, outcome: .abandoned(.holdLimit)) }
    }

    private func mark(_ word: CallWord, _ phase: CallWord.Phase) -> Bool {
        call.compareExchange(
            expected: word.rawValue,
            desired: word.with(phase).rawValue,
            ordering: .acquiringAndReleasing
        ).exchanged
    }

    func settle(_ verdicts: [LaneVerdict]) {
        for verdict in verdicts {
            for position in verdict.run.range {
                intake.settle(verdict.run.arrivals[position], verdict.outcome, plugin: entry, sink: verdict.run.sink)
            }
        }
    }

    private func reportStall(at now: UInt64) {
        let count = queue.withLock { queue -> Int in
            let isDue = queue.reportedTick.map { now - $0 >= Lane.ticksBetweenReports } ?? true
            guard queue.isStalled, isDue else { return 0 }
            return queue.takeUnreported(at: now)
        }
        if count > 0 { intake.logStall(entry, unavailable: count) }
    }

    /// Tells of arrivals that were unavailable and of which no log line has told yet.
    func reportUnavailable() {
        let count = queue.withLock { $0.takeUnreported(at: $0.reportedTick ?? 0) }
        if count > 0 { intake.logStall(entry, unavailable: count) }
    }
}
