import SignalboxCore

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
            // Beyond the limits the oldest are forgotten.
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
    /// Whether what an arrival's id stands for is remembered: while it runs, and so many ticks after it was handled.
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
