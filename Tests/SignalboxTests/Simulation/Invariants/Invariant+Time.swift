import SignalboxCore

extension Invariant {
    static let timeoutIsKept = Invariant(
        "timeoutIsKept",
        "A call has at least its timeout and at most two ticks more; then it is settled without it."
    ) { ledger in
        ledger.passages.flatMap { passage -> [Ledger.Fault] in
            guard let timeout = ledger.timeout(of: passage) else { return [] }
            return ledger.attempts(of: passage).compactMap { attempt in
                let settled = passage.settled.first?.at ?? .max
                // Told early, by an outcome that says that time was over.
                let end = min(settled, attempt.ended ?? .max, ledger.ended?.at ?? .max)
                guard attempt.began < end, end < ledger.ticks.count else { return nil }
                let ticks = ledger.ticks[end] - ledger.ticks[attempt.began]
                let isTimeout = passage.failure?.reason == .timeout && end == settled && attempt.isRunning(at: settled)
                if ticks <= timeout + 2, !isTimeout || ticks >= timeout { return nil }
                let text = "\(passage.mark): a call with a timeout of \(timeout) ticks was let go after \(ticks)"
                return Ledger.Fault(at: end, text: text)
            }
        }
    }

    static let holdLimitIsKept = Invariant(
        "holdLimitIsKept",
        """
        What a source that redelivers has inside begins, or is abandoned when the hold limit is over, \
        less the part of a tick that had gone by when it came.
        """
    ) { ledger in
        ledger.passages.compactMap { passage in
            guard ledger.source(of: passage).features.contains(.redelivers), !passage.isRepeat, let began = ledger.began
            else { return nil }
            let from = ledger.ticks[max(passage.offered, began)]
            let attempts = ledger.attempts(of: passage)
            let begun = attempts.first?.began
            guard let end = [begun, passage.settled.first?.at, ledger.ended?.at].compactMap({ $0 }).min() else {
                return nil
            }
            let ticks = ledger.ticks[end] - from
            let limit = ledger.scenario.holdLimit
            let isLetGo = passage.settled.first?.at == end && passage.outcome == .abandoned(.holdLimit)
            let isEarly = isLetGo && ticks < limit - 1
            if let late = attempts.first(where: { ledger.ticks[$0.began] - from > limit + 1 }) {
                return Ledger.Fault(at: late.began, text: "\(passage.mark) was called when the hold limit was over")
            }
            // What a batch plugin's call leaves out is told at its end.
            guard (ticks > limit + 1 && !ledger.isLeftOut(passage)) || isEarly else { return nil }
            return Ledger.Fault(at: end, text: "\(passage.mark) was held for \(ticks) ticks, of \(limit)")
        }
    }

    static let drainLimitIsKept = Invariant(
        "drainLimitIsKept",
        "A drain ends within its limit, a cancelled run at once, whatever the plugins do."
    ) { ledger in
        guard let ended = ledger.ended, let stopped = ledger.stopped, let began = ledger.began else { return [] }
        let ticks = ledger.ticks[ended.at] - ledger.ticks[max(stopped, began)]
        let limit = ledger.scenario.isCancelled ? 0 : ledger.scenario.drainLimit
        guard ticks > limit + 1 else { return [] }
        return [Ledger.Fault(at: ended.at, text: "the drain took \(ticks) ticks, of \(limit)")]
    }
}

extension Ledger {
    /// In ticks; `nil` where several registrations might have called it.
    fileprivate func timeout(of passage: Passage) -> Int? {
        guard let registration = onlyRegistration(of: message(of: passage).action) else { return nil }
        return registration.plugin.timeout ?? scenario.timeout
    }
}
