extension Invariant {
    static let nothingWaitsWithoutReason = Invariant(
        "nothingWaitsWithoutReason",
        """
        When everything that can go on has gone on, nothing is left waiting that a free place of its \
        plugin could call.
        """
    ) { ledger in
        guard let began = ledger.began else { return [] }
        let end = ledger.stopped ?? ledger.ended?.at ?? ledger.events.count
        var reported: Set<ArrivalMark> = []
        return ledger.events.indices.flatMap { position -> [Ledger.Fault] in
            guard case .tick = ledger.events[position], position > began, position < end else { return [] }
            return ledger.passages.compactMap { passage in
                guard !reported.contains(passage.mark), ledger.couldBegin(passage, at: position) else { return nil }
                reported.insert(passage.mark)
                return Ledger.Fault(at: position, text: "\(passage.mark) waits, and a place of its plugin is free")
            }
        }
    }
}

extension Ledger {
    fileprivate func couldBegin(_ passage: Passage, at position: Int) -> Bool {
        guard !sharesID(passage), passage.taken < position, !passage.isSettled(before: position),
            !hasBegun(passage, before: position),
            let registration = onlyRegistration(of: message(of: passage).action),
            registration.until.map({ $0 > position }) ?? true, registration.from.map({ $0 < passage.offered }) ?? false
        else { return false }
        let plugin = registration.plugin
        guard plugin.kind != .batch || !isLeftOutOfBatches(passage) else { return false }
        let others = passages.filter { message(of: $0).action == plugin.action && $0.mark != passage.mark }
        let running = others.filter { isRunning($0, at: position) }
        // A batch plugin's call is for several arrivals.
        let calls = plugin.kind == .batch ? Set(running.compactMap { $0.calls.last }).count : running.count
        guard calls < plugin.maxConcurrent else { return false }
        let own = strand(of: passage, in: plugin)
        return !others.contains { other in
            guard strand(of: other, in: plugin) == own else { return false }
            return isRunning(other, at: position)
                || (hasBegun(other, before: position) && !other.isSettled(before: position))
        }
    }

    private func isRunning(_ passage: Passage, at position: Int) -> Bool {
        attempts(of: passage).contains { $0.isRunning(at: position) }
    }
}
