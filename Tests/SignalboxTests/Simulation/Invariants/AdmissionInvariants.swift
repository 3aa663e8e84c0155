import Signalbox
import SignalboxCore

extension Invariant {
    static let rateLimitIsNotExceeded = Invariant(
        "rateLimitIsNotExceeded",
        "A source admits no more arrivals than its rate limit and burst."
    ) { history in
        history.intakes.keys.flatMap { intake -> [History.Anomaly] in
            guard let limit = history.scenario.sources[intake.source].rateLimit else { return [] }
            let ticks = history.admitted(intake)
            return ticks.indices.compactMap { first in
                guard
                    let over = ticks.indices.dropFirst(first).first(where: { last in
                        // A tick at either end may be a partial one.
                        let time = ticks[last].tick - ticks[first].tick + 1
                        return last - first + 1 > limit.burst + (limit.perSecond * time + 9) / 10
                    })
                else { return nil }
                let text = "\(over - first + 1) arrivals of \(intake) from tick \(ticks[first].tick) on exceed \(limit)"
                return History.Anomaly(at: ticks[over].at, text: text)
            }
        }
    }

    static let overloadHasItsCause = Invariant(
        "overloadHasItsCause",
        "Only arrivals over the rate limit of a source that cannot be slowed are rejected as overloaded."
    ) { history in
        history.arrivals.compactMap { arrival in
            guard arrival.rejection == .overloaded else { return nil }
            let limit = history.source(of: arrival).rateLimit
            if let limit, !history.source(of: arrival).isSlowed, history.isOver(limit, arrival) { return nil }
            return History.Anomaly(
                at: history.routedAt(arrival),
                text: "\(arrival.mark) was rejected below the rate limit"
            )
        }
    }
}

extension History {
    fileprivate struct Admitted {
        let mark: ArrivalMark
        let at: Int
        let tick: Int
    }

    /// Returns the arrivals that a rate limit counts: all of a slowed source, otherwise those that passed its stage.
    fileprivate func admitted(_ intake: IntakeMark) -> [Admitted] {
        let isSlowed = scenario.sources[intake.source].isSlowed
        let counted = arrivals.filter { arrival in
            guard arrival.intake == intake else { return false }
            return isSlowed || (wasRouted(arrival) && arrival.reaches(.rate) && arrival.refusal != .rate)
        }
        return counted.map { arrival in
            let at = isSlowed ? arrival.offered : routedAt(arrival)
            return Admitted(mark: arrival.mark, at: at, tick: supervisorTick(at))
        }
    }

    /// Returns the supervisor's tick at a position. Its timer starts with the run.
    func supervisorTick(_ position: Int) -> Int {
        guard let began, position >= began else { return 0 }
        return ticks[position] - ticks[began]
    }

    /// Returns whether less than one token is left, given the arrivals admitted since some earlier one.
    fileprivate func isOver(_ limit: RateLimit, _ arrival: ArrivalHistory) -> Bool {
        let before = admitted(arrival.intake).filter { $0.at < routedAt(arrival) || isBefore($0.mark, arrival) }
        let now = supervisorTick(routedAt(arrival))
        return before.indices.contains { first in
            let time = max(0, now - before[first].tick - 1)
            return 10 * (before.count - first) > 10 * (limit.burst - 1) + limit.perSecond * time
        }
    }

    private func isBefore(_ mark: ArrivalMark, _ arrival: ArrivalHistory) -> Bool {
        guard let one = indexes[mark], let other = indexes[arrival.mark] else { return false }
        return one < other && routedAt(arrivals[one]) == routedAt(arrival)
    }
}

extension Invariant {
    static let breakerMatchesItsModel = Invariant(
        "breakerMatchesItsModel",
        """
        After the configured number of consecutive failures, a circuit breaker admits nothing for its open time, and then \
        one trial at a time until one is handled. Otherwise it admits every arrival.
        """
    ) { history in
        history.registrations.flatMap { registration -> [History.Anomaly] in
            let plugin = registration.plugin
            guard let breaker = plugin.breaker, registration.from != nil,
                history.onlyRegistration(of: plugin.action) != nil
            else { return [] }
            var model = BreakerModel(breaker)
            for step in history.steps(of: plugin.action) {
                let tick = history.ticks[step.at]
                guard step.isDecision else {
                    model.settle(step.arrival, at: tick)
                    continue
                }
                let isRefused = step.arrival.refusal == .breaker
                if let error = model.decide(step.arrival.mark, isRefused: isRefused, at: tick) {
                    return [History.Anomaly(at: step.at, text: "\(step.arrival.mark) \(error)")]
                }
            }
            return []
        }
    }
}

extension History {
    fileprivate struct Step {
        let arrival: ArrivalHistory
        let at: Int
        /// Whether the breaker decides about the arrival. Otherwise the arrival is settled.
        let isDecision: Bool
    }

    /// Returns the decisions and outcomes of a plugin's circuit breaker, in order.
    fileprivate func steps(of action: Int) -> [Step] {
        let own = arrivals.filter { message(of: $0).action == action && $0.reaches(.breaker) && wasRouted($0) }
        // Arrivals that wait for the supervisor to open are routed intake by intake.
        let decisions = own.map { Step(arrival: $0, at: self.routedAt($0), isDecision: true) }.enumerated().sorted {
            one,
            other in
            (one.element.at, one.element.arrival.mark.source, one.offset)
                < (other.element.at, other.element.arrival.mark.source, other.offset)
        }
        let settled = own.compactMap { arrival in
            arrival.settled.first.map { Step(arrival: arrival, at: $0.at, isDecision: false) }
        }
        var all = decisions.map(\.element) + settled
        all = all.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
        return all
    }
}

/// A model of a circuit breaker, as the options document it.
private struct BreakerModel {
    private enum Phase {
        case closed(failures: Int)
        case open(since: Int)
        case trying(ArrivalMark?)
    }

    private let breaker: PluginScenario.Breaker
    private var phase = Phase.closed(failures: 0)

    init(_ breaker: PluginScenario.Breaker) { self.breaker = breaker }

    /// - Returns: The error, or `nil`.
    mutating func decide(_ mark: ArrivalMark, isRefused: Bool, at tick: Int) -> String? {
        switch phase {
        case .closed: return isRefused ? "was refused while the circuit breaker was closed" : nil
        case .open(let since):
            // A tick at either end may be a partial one.
            if isRefused { return tick > since + breaker.openFor + 1 ? "was refused after the open time" : nil }
            if tick < since + breaker.openFor - 1 { return "was admitted while the circuit breaker was open" }
            phase = .trying(mark)
        case .trying(let trial):
            if isRefused { return trial == nil ? "was refused while no trial was running" : nil }
            if let trial { return "was admitted during the trial of \(trial)" }
            phase = .trying(mark)
        }
        return nil
    }

    mutating func settle(_ arrival: ArrivalHistory, at tick: Int) {
        switch (phase, arrival.outcome) {
        case (.closed, .handled): phase = .closed(failures: 0)
        case (.closed(let count), .failed):
            phase = count + 1 < breaker.failures ? .closed(failures: count + 1) : .open(since: tick)
        case (.trying(arrival.mark), .handled): phase = .closed(failures: 0)
        case (.trying(arrival.mark), .failed): phase = .open(since: tick)
        case (.trying(arrival.mark), _): phase = .trying(nil)
        default: break
        }
    }
}

extension Invariant {
    static let duplicatesAreNotCalled = Invariant(
        "duplicatesAreNotCalled",
        "While an id is remembered, no other arrival of its source with that id reaches a plugin."
    ) { history in
        history.arrivals.enumerated().flatMap { index, first -> [History.Anomaly] in
            guard let limits = history.source(of: first).remembered, !history.attempts(of: first).isEmpty,
                let id = history.message(of: first).id
            else { return [] }
            let ids = Set(history.arrivals.filter { $0.intake == first.intake }.map { history.message(of: $0).id })
            // Beyond the limits, the oldest ids are forgotten.
            guard ids.count <= limits.count, limits.bytes > 1_000 else { return [] }
            return history.arrivals.dropFirst(index + 1).compactMap { later in
                guard later.intake == first.intake, history.message(of: later).id == id,
                    history.isRemembered(first, at: history.routedAt(later), for: limits.time - 1),
                    let call = history.attempts(of: later).first
                else { return nil }
                return History.Anomaly(
                    at: call.began,
                    text: "\(later.mark) was called with the id of \(first.mark)"
                )
            }
        }
    }

    static let duplicatesHaveTheirOriginal = Invariant(
        "duplicatesHaveTheirOriginal",
        """
        A duplicate has the outcome of an earlier arrival of its source with the same id and content: immediately if that \
        arrival was handled and is remembered, otherwise together with it.
        """
    ) { history in
        history.arrivals.compactMap { arrival in
            guard arrival.isDuplicate, let settled = arrival.settled.first, !history.hasOriginal(arrival, settled)
            else {
                return nil
            }
            let text =
                "\(arrival.mark) (m\(arrival.message)) is reported as a duplicate, but no original has its outcome"
            return History.Anomaly(at: settled.at, text: text)
        }
    }
}

extension History {
    /// Returns whether the arrival's id is remembered: while it is unsettled, and `time` ticks after it was handled.
    fileprivate func isRemembered(_ arrival: ArrivalHistory, at position: Int, for time: Int) -> Bool {
        guard let settled = arrival.settled.first, settled.at < position else { return true }
        guard case .handled = settled.outcome else { return false }
        return ticks[position] - ticks[settled.at] < time
    }

    fileprivate func hasOriginal(_ arrival: ArrivalHistory, _ settled: ArrivalHistory.ReportedOutcome) -> Bool {
        guard let limits = source(of: arrival).remembered, message(of: arrival).id != nil else { return false }
        return arrivals.contains { other in
            guard other.intake == arrival.intake, other.message == arrival.message, !other.isDuplicate,
                routedAt(other) <= routedAt(arrival), let first = other.settled.first, first.at < settled.at,
                first.outcome == settled.outcome
            else { return false }
            let isTogether = first.at > routedAt(arrival) && ticks[first.at] == ticks[settled.at]
            let isAgain = ticks[routedAt(arrival)] == ticks[settled.at]
            return isTogether || isAgain && isRemembered(other, at: routedAt(arrival), for: limits.time + 2)
        }
    }

    func hasConflict(_ arrival: ArrivalHistory) -> Bool {
        guard let limits = source(of: arrival).remembered, let id = message(of: arrival).id else { return false }
        return arrivals.contains { other in
            other.intake == arrival.intake && other.message != arrival.message && message(of: other).id == id
                && wasRouted(other) && routedAt(other) <= routedAt(arrival) && other.rejection != .idConflict
                && isRemembered(other, at: routedAt(arrival), for: limits.time + 2)
        }
    }
}
