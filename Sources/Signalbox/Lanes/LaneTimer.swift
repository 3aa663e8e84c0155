import SignalboxCore
import Synchronization

extension Lane {
    /// Settles overdue calls, abandons arrivals whose ack deadline has passed, and starts the retries that are due.
    /// Called by the timer at each tick.
    ///
    /// A call is timed from the first tick that observes it, so it can run for at least its timeout and at most two
    /// ticks longer. No clock is read.
    ///
    /// - Parameter queuesRetries: Pass `false` while abandoning the remaining arrivals. A retry that a worker has just
    ///   received cannot be abandoned, and would otherwise be called again at each tick.
    func tick(_ now: UInt64, queuesRetries: Bool = true) {
        let (verdicts, wakeups, slow, hasEnded) = state.withLock { state -> ([Verdict], LaneWakeups, Settler?, Bool) in
            defer { state.slowInlineSource = nil }
            var verdicts: [Verdict] = []
            for position in state.workers.indices { verdicts += look(at: position, &state, now) }
            let overdue = state.groups.takeOverdue(at: now)
            verdicts += overdue.map { Verdict(slice: $0, outcome: .abandoned(.ackDeadline)) }
            if queuesRetries { verdicts += state.queueDueRetries(at: now) }
            return (verdicts, state.dispatch(), state.slowInlineSource, state.hasEnded)
        }
        perform(wakeups)
        for verdict in verdicts { verdict.settle() }
        activateReplacement()
        reportUnavailable(at: now)
        slow?.log.inlineEnded(entry)
        // No task ends in a lane whose calls were all inline and whose last retry was taken away.
        if hasEnded { lanes.release(self) }
    }

    private func look(at position: Int, _ state: inout LaneState, _ now: UInt64) -> [Verdict] {
        let callState = state.workers[position].worker.callState
        guard callState.phase == .running || callState.phase == .interrupted else { return [] }
        if state.workers[position].isInline { state.limitInlineCalls(at: position) }
        if callState.number != state.workers[position].lastSeenCall {
            state.workers[position].lastSeenCall = callState.number
            state.workers[position].lastSeenTick = now
            return abandonOverdue(behind: callState, position, &state, now)
        }
        if state.workers[position].isInline { state.endInlineCalls(at: position) }
        if now - state.workers[position].lastSeenTick >= timeoutTicks {
            let verdicts = expire(callState, position, &state, running: overdue, waiting: unavailable)
            state.unavailable += verdicts.dropFirst().reduce(0) { $0 + $1.slice.range.count }
            return verdicts
        }
        return abandonOverdue(behind: callState, position, &state, now)
    }

    /// Takes the actions whose ack deadline has passed away from a worker that is in an earlier call.
    private func abandonOverdue(
        behind callState: CallState,
        _ position: Int,
        _ state: inout LaneState,
        _ now: UInt64
    ) -> [Verdict] {
        guard callState.phase == .running, let current = state.workers[position].current, current.isOverdue(at: now),
            state.workers[position].worker.mark(callState, .interrupted),
            let rest = state.workers[position].takeRest(behindCall: callState.number)
        else { return [] }
        return [Verdict(slice: rest, outcome: .abandoned(.ackDeadline))]
    }

    /// Settles everything in the lane with one outcome, including the calls in progress.
    ///
    /// A worker that is between two calls cannot be interrupted. With such a worker, only the queues are settled, and
    /// the caller tries again at the next tick.
    func abandon(_ reason: Outcome.Abandonment) {
        let outcome = Outcome.abandoned(reason)
        let (verdicts, wakeups) = state.withLock { state -> ([Verdict], LaneWakeups) in
            var verdicts: [Verdict] = []
            for position in state.workers.indices {
                let callState = state.workers[position].worker.callState
                verdicts += expire(callState, position, &state, running: outcome, waiting: outcome)
            }
            let left = state.groups.takeAll() + state.takeRetries()
            return (verdicts + left.map { Verdict(slice: $0, outcome: outcome) }, state.dispatch())
        }
        perform(wakeups)
        for verdict in verdicts { verdict.settle() }
    }

    private var overdue: Outcome {
        .failed(Outcome.Failure(.timeout, detail: "plugin \(entry.action) did not return within \(entry.timeout)"))
    }

    /// Takes a call in progress away from its task, along with everything that is waiting for the call.
    private func expire(
        _ callState: CallState,
        _ position: Int,
        _ state: inout LaneState,
        running: Outcome,
        waiting: Outcome
    ) -> [Verdict] {
        guard callState.phase == .running || callState.phase == .interrupted,
            state.workers[position].worker.mark(callState, .expired)
        else { return [] }
        let called = state.workers[position].called(callState.number)
        // Decoding a body to determine its key is not an attempt.
        let isAttempt = state.sorter != position
        let unbegun = state.stall(position, behindCall: callState.number)
        return (called.map { [Verdict(slice: isAttempt ? $0.called : $0, outcome: running)] } ?? [])
            + unbegun.map { Verdict(slice: $0, outcome: waiting) }
    }

    /// Logs how many arrivals have been rejected as unavailable since the last such log line, at most once per minute.
    ///
    /// - Parameter now: The current tick, or `nil` for the final report, which is always due.
    func reportUnavailable(at now: UInt64? = nil) {
        let (count, source) = state.withLock { state in
            (state.report.take(of: state.unavailable, at: now), state.stalledBy)
        }
        if count > 0 { source?.log.stalled(entry, unavailable: count) }
    }
}

/// Elements that are due at ticks of the supervisor's timer. A tick costs no more than what is due at it, however many
/// elements wait for later ticks.
struct TickSchedule<Element: Sendable>: Sendable {
    private var elements: [UInt64: [Element]] = [:]
    /// The last tick whose elements have been taken.
    private var lastTick: UInt64 = 0

    var isEmpty: Bool { elements.isEmpty }

    var count: Int { elements.values.reduce(0) { $0 + $1.count } }

    /// Adds an element. If the tick has passed, the element is due at the next one.
    mutating func add(_ element: Element, at due: UInt64) {
        elements[max(due, lastTick + 1), default: []].append(element)
    }

    /// Removes and returns what is due, in the order of the ticks and, for each tick, in the order of the additions.
    mutating func takeDue(at now: UInt64) -> [Element] {
        let isNext = now == lastTick + 1
        lastTick = max(now, lastTick)
        guard !elements.isEmpty else { return [] }
        if isNext { return elements.removeValue(forKey: now) ?? [] }
        let ticks = elements.keys.filter { $0 <= now }.sorted()
        return ticks.flatMap { elements.removeValue(forKey: $0) ?? [] }
    }

    /// Removes and returns all matching elements, in the same order as ``takeDue(at:)``.
    mutating func takeAll(where isMeant: (Element) -> Bool) -> [Element] {
        var taken: [Element] = []
        for tick in elements.keys.sorted() {
            var kept: [Element] = []
            for element in elements[tick] ?? [] {
                if isMeant(element) { taken.append(element) } else { kept.append(element) }
            }
            elements[tick] = kept.isEmpty ? nil : kept
        }
        return taken
    }
}
