import SignalboxCore

extension Invariant {
    static let stalledLaneIsUnavailable = Invariant(
        "stalledLaneIsUnavailable",
        """
        While every call that a plugin may have was settled without waiting for it, nothing waits for the plugin; nor what \
        such a call of its own source holds up.
        """
    ) { ledger in
        guard let began = ledger.began else { return [] }
        let end = ledger.stopped ?? ledger.ended?.at ?? ledger.events.count
        var reported: Set<ArrivalMark> = []
        return ledger.events.indices.flatMap { position -> [Ledger.Fault] in
            guard case .tick = ledger.events[position], position > began, position < end else { return [] }
            return ledger.passages.compactMap { passage in
                guard !reported.contains(passage.mark), ledger.waitsInVain(passage, at: position) else { return nil }
                reported.insert(passage.mark)
                return Ledger.Fault(at: position, text: "\(passage.mark) waits for a plugin that is stalled")
            }
        }
    }
}

extension Ledger {
    fileprivate func waitsInVain(_ passage: Passage, at position: Int) -> Bool {
        guard !sharesID(passage), passage.taken < position, !passage.isSettled(before: position),
            !hasBegun(passage, before: position),
            let registration = onlyRegistration(of: message(of: passage).action), !isLeftOut(passage)
        else { return false }
        let plugin = registration.plugin
        let stalled = passages.filter { other in
            message(of: other).action == plugin.action && other.isSettled(before: position)
                && attempts(of: other).contains { $0.isRunning(at: position) }
        }
        if plugin.order == .source, stalled.contains(where: { $0.intake == passage.intake }) { return true }
        // A call of a batch plugin is for several arrivals.
        let calls = plugin.kind == .batch ? Set(stalled.compactMap { $0.calls.last }).count : stalled.count
        return calls >= plugin.maxConcurrent
    }
}
