import SignalboxCore
import Synchronization

extension Lane {
    /// What the timer does at each tick: settles calls that are overdue, lets go of what has waited too long, and lets
    /// those begin that are to be called again, unless the caller abandons what is left: what a place has just been given
    /// cannot be taken from it, and would be called once more at each tick.
    ///
    /// A call counts from the tick at which it is first seen, so it has at least its timeout and at most two ticks more,
    /// and needs no look at the clock of its own.
    func tick(_ now: UInt64, wakesSleepers: Bool = true) {
        let (verdicts, wakeups) = state.withLock { state -> ([LaneVerdict], LaneWakeups) in
            var verdicts: [LaneVerdict] = []
            for position in state.places.indices { verdicts += look(at: position, &state, now) }
            let overdue = state.takeWaiting { $0.isOverdue(at: now) }
            verdicts += overdue.map { LaneVerdict(run: $0, outcome: .abandoned(.holdLimit)) }
            if wakesSleepers { verdicts += state.wakeSleepers(at: now) }
            return (verdicts, state.dispatch())
        }
        carryOut(wakeups)
        settle(verdicts)
        handOver()
        reportStall(at: now)
    }

    private func look(at position: Int, _ state: inout LaneState, _ now: UInt64) -> [LaneVerdict] {
        let word = state.places[position].place.word
        guard word.phase == .running || word.phase == .interrupted else { return [] }
        if word.number != state.places[position].lastSeenCall {
            state.places[position].lastSeenCall = word.number
            state.places[position].lastSeenTick = now
        } else if now - state.places[position].lastSeenTick >= timeoutTicks {
            let verdicts = expire(word, position, &state, running: overdue, waiting: unavailable)
            state.unreported += verdicts.dropFirst().reduce(0) { $0 + $1.run.range.count }
            return verdicts
        }
        guard word.phase == .running, let current = state.places[position].current, current.isOverdue(at: now),
            state.places[position].place.mark(word, .interrupted),
            let rest = state.places[position].takeRest(behindCall: word.number)
        else { return [] }
        return [LaneVerdict(run: rest, outcome: .abandoned(.holdLimit))]
    }

    /// Settles all that is in the lane with one outcome, the calls in progress too.
    ///
    /// Between two calls a task cannot be stopped: then only what waits behind its run is settled, and the caller tries
    /// again at the next tick.
    func abandon(_ reason: Outcome.Abandonment) {
        let outcome = Outcome.abandoned(reason)
        let (verdicts, wakeups) = state.withLock { state -> ([LaneVerdict], LaneWakeups) in
            var verdicts: [LaneVerdict] = []
            for position in state.places.indices {
                let word = state.places[position].place.word
                verdicts += expire(word, position, &state, running: outcome, waiting: outcome)
            }
            let left = state.takeWaiting() + state.takeSleepers()
            return (verdicts + left.map { LaneVerdict(run: $0, outcome: outcome) }, state.dispatch())
        }
        carryOut(wakeups)
        settle(verdicts)
    }

    private var overdue: Outcome {
        .failed(Outcome.Failure(.timeout, detail: "plugin \(entry.action) did not return within \(entry.timeout)"))
    }

    /// Takes the call in progress away from the task, and with it all that waits for it.
    private func expire(
        _ word: CallWord,
        _ position: Int,
        _ state: inout LaneState,
        running: Outcome,
        waiting: Outcome
    ) -> [LaneVerdict] {
        guard word.phase == .running || word.phase == .interrupted, state.places[position].place.mark(word, .expired)
        else { return [] }
        let called = state.places[position].called(word.number)
        // Decoding for a key is no attempt.
        let isAttempt = state.sorter != position
        let unbegun = state.stall(position, behindCall: word.number)
        return (called.map { [LaneVerdict(run: isAttempt ? $0.called : $0, outcome: running)] } ?? [])
            + unbegun.map { LaneVerdict(run: $0, outcome: waiting) }
    }

    func settle(_ verdicts: [LaneVerdict]) {
        for verdict in verdicts {
            verdict.run.settle(verdict.outcome, plugin: entry, isOfAttempt: verdict.isOfAttempt)
        }
    }

    private func reportStall(at now: UInt64) {
        let (count, source) = state.withLock { state -> (Int, SourceIntake?) in
            guard state.reportedTick.map({ now - $0 >= core.ticksBetweenStallLines }) ?? true else { return (0, nil) }
            return (state.takeUnreported(at: now), state.stalledBy)
        }
        if count > 0 { source?.logStall(entry, unavailable: count) }
    }

    /// Tells of arrivals that were unavailable and of which no log line has told yet.
    func reportUnavailable() {
        let (count, source) = state.withLock { state in
            (state.takeUnreported(at: state.reportedTick ?? 0), state.stalledBy)
        }
        if count > 0 { source?.logStall(entry, unavailable: count) }
    }
}
