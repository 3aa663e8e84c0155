import SignalboxCore

extension Invariant {
    static let removalIsKept = Invariant(
        "removalIsKept",
        """
        Removing a source ends within the drain limit, and when it does everything of it is settled but calls that go on, \
        and repeats of them.
        """
    ) { ledger in
        ledger.removals.flatMap { removal -> [Ledger.Fault] in
            guard removal.isRemoved, let intake = removal.intake, let until = removal.until else { return [] }
            var faults: [Ledger.Fault] = []
            let limit = ledger.scenario.drainLimit
            let isRunning = ledger.began.map { $0 < removal.from } ?? false
            let ticks = ledger.ticks[until] - ledger.ticks[removal.from]
            if isRunning, ticks > limit + 2 {
                faults.append(
                    Ledger.Fault(at: until, text: "the removal of \(intake) took \(ticks) ticks, of \(limit)")
                )
            }
            for passage in ledger.passages where passage.intake == intake && !passage.isSettled(before: until) {
                if ledger.isInCall(passage, until) { continue }
                // A repeat of what is called waits for it.
                if ledger.passages.contains(where: { $0.isTwin(of: passage) && ledger.isInCall($0, until) }) {
                    continue
                }
                faults.append(Ledger.Fault(at: until, text: "\(intake) is removed, and \(passage.mark) waits"))
            }
            return faults
        }
    }

    static let namesAreFree = Invariant(
        "namesAreFree",
        "A source can be added where none of its name is there, until the supervisor drains."
    ) { ledger in
        // One that ends by itself may be the last, and then the supervisor drains.
        guard !ledger.scenario.sources.contains(where: { $0.kind == .endingAdapter }) else { return [] }
        return ledger.events.enumerated().compactMap { position, event in
            guard case .notAdded(let source) = event, position < min(ledger.stopped ?? .max, ledger.ended?.at ?? .max)
            else { return nil }
            let lives = ledger.intakes.filter { $0.key.source == source && $0.value < position }.keys
            let left = ledger.removals.filter { $0.isRemoved && $0.until.map { $0 < position } ?? false }
            guard lives.allSatisfy({ life in left.contains { $0.intake == life } }) else { return nil }
            return Ledger.Fault(at: position, text: "s\(source) was not added, and there is none of its name")
        }
    }
}

extension Ledger {
    fileprivate func isInCall(_ passage: Passage, _ position: Int) -> Bool {
        isInBatchCall(passage, position)
            || attempts(of: passage).contains { attempt in
                // One may begin, and end in a failure after which it would be called again, in the tick of the removal's end.
                let isNow = [attempt.began, attempt.ended].contains { $0.map { ticks[$0] } == ticks[position] }
                return attempt.isRunning(at: position) || isNow
            }
    }
}

extension Passage {
    fileprivate func isTwin(of other: Passage) -> Bool {
        mark != other.mark && message == other.message && intake == other.intake
    }
}
