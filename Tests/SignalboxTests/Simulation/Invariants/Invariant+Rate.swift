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
                        // Part of a tick may have gone by at both ends.
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

    /// What a rate limit counts: all of a source that is slowed, else what got past that stage.
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

    /// The supervisor's timer begins with its run.
    func supervisorTick(_ position: Int) -> Int {
        guard let began, position >= began else { return 0 }
        return ticks[position] - ticks[began]
    }

    /// Whether since some earlier moment so much was let in that less than one is left.
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
