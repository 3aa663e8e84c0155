import SignalboxCore

extension Invariant {
    static let reentrantIsRefused = Invariant(
        "reentrantIsRefused",
        """
        A call that awaits what could begin only after it has returned is told so at once, and does not \
        wait for its timeout.
        """
    ) { ledger in
        ledger.passages.compactMap { passage in
            guard ledger.waitsForItself(passage), let settled = passage.settled.first else { return nil }
            // What does not get as far as the lane has another outcome, as has what waits at a lane that is stalled.
            guard settled.at > passage.taken else { return nil }
            return Ledger.Fault(at: settled.at, text: "\(passage.mark) waited for the call that delivered it")
        }
    }
}

extension Ledger {
    /// Whether it was delivered by a call that has to return before it could begin.
    func waitsForItself(_ passage: Passage) -> Bool {
        guard let number = deliverers[passage.mark], let call = calls.first(where: { $0.number == number }) else {
            return false
        }
        let registration = registrations[call.registration]
        let plugin = registration.plugin
        guard plugin.action == message(of: passage).action, registration.until.map({ $0 > passage.taken }) ?? true,
            plugin.sources.contains(passage.mark.source)
        else { return false }
        if plugin.maxConcurrent == 1 { return true }
        return plugin.order == .source && call.marks.contains { self.passage($0)?.intake == passage.intake }
    }
}
