import Signalbox
import SignalboxCore

extension Invariant {
    static let rateLimitIsKept = Invariant(
        "rateLimitIsKept",
        "A source with a rate limit has no more let in than that, and a burst."
    ) { ledger in
        ledger.intakes.keys.flatMap { intake -> [Ledger.Fault] in
            guard let limit = ledger.scenario.sources[intake.source].rateLimit else { return [] }
            let ticks = ledger.letIn(intake)
            return ticks.indices.compactMap { first in
                guard
                    let over = ticks.indices.dropFirst(first).first(where: { last in
                        // A tick at either end may be a partial one.
                        let time = ticks[last].tick - ticks[first].tick + 1
                        return last - first + 1 > limit.burst + (limit.perSecond * time + 9) / 10
                    })
                else { return nil }
                let text = "\(over - first + 1) arrivals of \(intake) from tick \(ticks[first].tick) on, of \(limit)"
                return Ledger.Fault(at: ticks[over].at, text: text)
            }
        }
    }

    static let overloadedIsTrue = Invariant(
        "overloadedIsTrue",
        "Only what is over the rate limit of a source that cannot be slowed is refused as overloaded."
    ) { ledger in
        ledger.passages.compactMap { passage in
            guard passage.rejection == .overloaded else { return nil }
            let limit = ledger.source(of: passage).rateLimit
            if let limit, !ledger.source(of: passage).isSlowed, ledger.isOver(limit, passage) { return nil }
            return Ledger.Fault(
                at: ledger.asked(passage),
                text: "\(passage.mark) is refused, and the rate limit is not reached"
            )
        }
    }
}

extension Ledger {
    fileprivate struct LetIn {
        let mark: ArrivalMark
        let at: Int
        let tick: Int
    }

    /// Returns the arrivals that a rate limit counts: all of a slowed source, otherwise those that passed its stage.
    fileprivate func letIn(_ intake: IntakeMark) -> [LetIn] {
        let isSlowed = scenario.sources[intake.source].isSlowed
        let counted = passages.filter { passage in
            guard passage.intake == intake else { return false }
            return isSlowed || (wasRouted(passage) && passage.reaches(.rate) && passage.refusal != .rate)
        }
        return counted.map { passage in
            let at = isSlowed ? passage.offered : asked(passage)
            return LetIn(mark: passage.mark, at: at, tick: supervisorTick(at))
        }
    }

    /// Returns the supervisor's tick at a position. Its timer starts with the run.
    func supervisorTick(_ position: Int) -> Int {
        guard let began, position >= began else { return 0 }
        return ticks[position] - ticks[began]
    }

    /// Returns whether less than one token is left, given the arrivals let in since some earlier one.
    fileprivate func isOver(_ limit: RateLimit, _ passage: Passage) -> Bool {
        let before = letIn(passage.intake).filter { $0.at < asked(passage) || isBefore($0.mark, passage) }
        let now = supervisorTick(asked(passage))
        return before.indices.contains { first in
            let time = max(0, now - before[first].tick - 1)
            return 10 * (before.count - first) > 10 * (limit.burst - 1) + limit.perSecond * time
        }
    }

    private func isBefore(_ mark: ArrivalMark, _ passage: Passage) -> Bool {
        guard let one = places[mark], let other = places[passage.mark] else { return false }
        return one < other && asked(passages[one]) == asked(passage)
    }
}

extension Invariant {
    static let breakerIsKept = Invariant(
        "breakerIsKept",
        """
        After so many failures in a row a circuit breaker lets nothing pass for its time, and then one at a time until \
        one is handled; else it lets all pass.
        """
    ) { ledger in
        ledger.registrations.flatMap { registration -> [Ledger.Fault] in
            let plugin = registration.plugin
            guard let breaker = plugin.breaker, registration.from != nil,
                ledger.onlyRegistration(of: plugin.action) != nil
            else { return [] }
            var model = BreakerModel(breaker)
            for step in ledger.steps(of: plugin.action) {
                let tick = ledger.ticks[step.at]
                guard step.isAsked else {
                    model.settle(step.passage, at: tick)
                    continue
                }
                let isRefused = step.passage.refusal == .breaker
                if let fault = model.ask(step.passage.mark, isRefused: isRefused, at: tick) {
                    return [Ledger.Fault(at: step.at, text: "\(step.passage.mark) \(fault)")]
                }
            }
            return []
        }
    }
}

extension Ledger {
    fileprivate struct Step {
        let passage: Passage
        let at: Int
        /// Whether the breaker decides about the arrival. Otherwise the arrival is settled.
        let isAsked: Bool
    }

    /// Returns the decisions and outcomes of a plugin's circuit breaker, in order.
    fileprivate func steps(of action: Int) -> [Step] {
        let own = passages.filter { message(of: $0).action == action && $0.reaches(.breaker) && wasRouted($0) }
        // Arrivals that wait for the supervisor to open are routed intake by intake.
        let asked = own.map { Step(passage: $0, at: self.asked($0), isAsked: true) }.enumerated().sorted { one, other in
            (one.element.at, one.element.passage.mark.source, one.offset)
                < (other.element.at, other.element.passage.mark.source, other.offset)
        }
        let settled = own.compactMap { passage in
            passage.settled.first.map { Step(passage: passage, at: $0.at, isAsked: false) }
        }
        var all = asked.map(\.element) + settled
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

    /// - Returns: The fault, or `nil`.
    mutating func ask(_ mark: ArrivalMark, isRefused: Bool, at tick: Int) -> String? {
        switch phase {
        case .closed: return isRefused ? "was refused, and the circuit breaker is closed" : nil
        case .open(let since):
            // A tick at either end may be a partial one.
            if isRefused { return tick > since + breaker.openFor + 1 ? "was refused, and the time is over" : nil }
            if tick < since + breaker.openFor - 1 { return "was let through, and the circuit breaker is open" }
            phase = .trying(mark)
        case .trying(let trial):
            if isRefused { return trial == nil ? "was refused, and nothing is tried" : nil }
            if let trial { return "was let through while \(trial) is tried" }
            phase = .trying(mark)
        }
        return nil
    }

    mutating func settle(_ passage: Passage, at tick: Int) {
        switch (phase, passage.outcome) {
        case (.closed, .handled): phase = .closed(failures: 0)
        case (.closed(let count), .failed):
            phase = count + 1 < breaker.failures ? .closed(failures: count + 1) : .open(since: tick)
        case (.trying(passage.mark), .handled): phase = .closed(failures: 0)
        case (.trying(passage.mark), .failed): phase = .open(since: tick)
        case (.trying(passage.mark), _): phase = .trying(nil)
        default: break
        }
    }
}

extension Invariant {
    static let repeatsAreNotCalled = Invariant(
        "repeatsAreNotCalled",
        "While an id is remembered, nothing else of its source with that id reaches a plugin."
    ) { ledger in
        ledger.passages.enumerated().flatMap { place, first -> [Ledger.Fault] in
            guard let limits = ledger.source(of: first).remembered, !ledger.attempts(of: first).isEmpty,
                let id = ledger.message(of: first).id
            else { return [] }
            let ids = Set(ledger.passages.filter { $0.intake == first.intake }.map { ledger.message(of: $0).id })
            // Beyond the limits, the oldest ids are forgotten.
            guard ids.count <= limits.count, limits.bytes > 1_000 else { return [] }
            return ledger.passages.dropFirst(place + 1).compactMap { later in
                guard later.intake == first.intake, ledger.message(of: later).id == id,
                    ledger.isRemembered(first, at: ledger.asked(later), for: limits.time - 1),
                    let call = ledger.attempts(of: later).first
                else { return nil }
                return Ledger.Fault(
                    at: call.began,
                    text: "\(later.mark) was called, and its id is that of \(first.mark)"
                )
            }
        }
    }

    static let repeatsHaveTheirOriginal = Invariant(
        "repeatsHaveTheirOriginal",
        """
        A repeat has the outcome of an earlier arrival of its source with its id and content: at once when that was \
        handled and is remembered, else together with it.
        """
    ) { ledger in
        ledger.passages.compactMap { passage in
            guard passage.isRepeat, let settled = passage.settled.first, !ledger.hasOriginal(passage, settled) else {
                return nil
            }
            let text =
                "\(passage.mark) (m\(passage.message)) is told to be a repeat, and nothing has this outcome for it"
            return Ledger.Fault(at: settled.at, text: text)
        }
    }
}

extension Ledger {
    /// Returns whether the arrival's id is remembered: while it is unsettled, and `time` ticks after it was handled.
    fileprivate func isRemembered(_ passage: Passage, at position: Int, for time: Int) -> Bool {
        guard let settled = passage.settled.first, settled.at < position else { return true }
        guard case .handled = settled.outcome else { return false }
        return ticks[position] - ticks[settled.at] < time
    }

    fileprivate func hasOriginal(_ passage: Passage, _ settled: Passage.Told) -> Bool {
        guard let limits = source(of: passage).remembered, message(of: passage).id != nil else { return false }
        return passages.contains { other in
            guard other.intake == passage.intake, other.message == passage.message, !other.isRepeat,
                asked(other) <= asked(passage), let first = other.settled.first, first.at < settled.at,
                first.outcome == settled.outcome
            else { return false }
            let isTogether = first.at > asked(passage) && ticks[first.at] == ticks[settled.at]
            let isAgain = ticks[asked(passage)] == ticks[settled.at]
            return isTogether || isAgain && isRemembered(other, at: asked(passage), for: limits.time + 2)
        }
    }

    func hasConflict(_ passage: Passage) -> Bool {
        guard let limits = source(of: passage).remembered, let id = message(of: passage).id else { return false }
        return passages.contains { other in
            other.intake == passage.intake && other.message != passage.message && message(of: other).id == id
                && wasRouted(other) && asked(other) <= asked(passage) && other.rejection != .idConflict
                && isRemembered(other, at: asked(passage), for: limits.time + 2)
        }
    }
}
