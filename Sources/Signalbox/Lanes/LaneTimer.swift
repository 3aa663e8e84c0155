import SignalboxCore
import Synchronization

extension Lane {
    /// Settles overdue calls, abandons arrivals past their ack deadline and starts due retries, at each tick.
    ///
    /// A call is timed from the first tick that observes it, so it has at least its timeout and at most two ticks more,
    /// without reading a clock.
    ///
    /// - Parameter wakesSleepers: `false` while the caller abandons the rest. A retry that a worker has just received
    ///   cannot be abandoned and would be called again at each tick.
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

    /// Settles everything in the lane with one outcome, including the calls in progress.
    ///
    /// A worker between two calls cannot be interrupted. In that case only the queues are settled, and the caller tries
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

    /// Takes the call in progress away from its task, together with everything that waits for it.
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
        // Decoding for a key is not an attempt.
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

    /// Logs the unavailable arrivals that no log line has reported yet.
    func reportUnavailable() {
        let (count, source) = state.withLock { state in
            (state.takeUnreported(at: state.reportedTick ?? 0), state.stalledBy)
        }
        if count > 0 { source?.logStall(entry, unavailable: count) }
    }
}
