import SignalboxCore

extension Invariant {
    static let settledOnce = Invariant("settledOnce", "The one outcome of an arrival is told once.") { ledger in
        ledger.passages.compactMap { passage in
            guard passage.settled.count > 1 else { return nil }
            return Ledger.Fault(at: passage.settled[1].at, text: "\(passage.mark) was settled more than once")
        }
    }

    static let nothingUntakenIsTold = Invariant(
        "nothingUntakenIsTold",
        "Only what `submit` took is told of, and only after it was offered."
    ) { $0.faults }

    static let allIsSettledWhenTheRunEnds = Invariant(
        "allIsSettledWhenTheRunEnds",
        "Nothing vanishes: when `run()` has returned, every arrival that was taken has its outcome."
    ) { ledger in
        guard let ended = ledger.ended else {
            return [Ledger.Fault(at: ledger.events.count, text: "run() did not return")]
        }
        return ledger.passages.compactMap { passage in
            guard !passage.isSettled(before: ended.at) else { return nil }
            return Ledger.Fault(at: ended.at, text: "\(passage.mark) was taken, and not settled when run() returned")
        }
    }

    static let acknowledgedAsDecided = Invariant(
        "acknowledgedAsDecided",
        """
        What is decided may be acknowledged, once and before its outcome is told; what is abandoned \
        never.
        """
    ) { ledger in
        ledger.passages.compactMap { passage in
            let at = passage.acknowledged.last ?? passage.settled.first?.at ?? passage.taken
            let expected = passage.settled.isEmpty || passage.isAbandoned ? 0 : 1
            guard passage.acknowledged.count == expected else {
                let word = passage.outcome?.name ?? "not settled"
                let count = passage.acknowledged.count
                let text = "\(passage.mark) is \(word): acknowledged \(expected) times expected, \(count) seen"
                return Ledger.Fault(at: at, text: text)
            }
            guard let settled = passage.settled.first, at > settled.at else { return nil }
            return Ledger.Fault(at: at, text: "\(passage.mark) was acknowledged after its outcome was told")
        }
    }

    static let observedBeforeSettled = Invariant(
        "observedBeforeSettled",
        "Observers are told of each outcome once, before the adapter is."
    ) { ledger in
        ledger.passages.compactMap { passage in
            guard let settled = passage.settled.first else { return nil }
            let isRight = passage.observed.count == 1 && passage.observed[0].at < settled.at
            if isRight, passage.observed[0].outcome == settled.outcome { return nil }
            return Ledger.Fault(at: settled.at, text: "\(passage.mark) was not observed once, before, with its outcome")
        }
    }
}
