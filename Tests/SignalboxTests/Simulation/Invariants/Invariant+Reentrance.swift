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
            guard ledger.waitsForItself(passage) || ledger.waitsForItsPredecessor(passage),
                let settled = passage.settled.first
            else { return nil }
            // What does not get as far as the lane has another outcome, as has what waits at a lane that is stalled.
            guard settled.at > passage.taken else { return nil }
            return Ledger.Fault(at: settled.at, text: "\(passage.mark) waited for the call that delivered it")
        }
    }
}

extension Ledger {
    /// Whether it was delivered by a call of the plugin whose place its own took, and which that one waits for.
    fileprivate func waitsForItsPredecessor(_ passage: Passage) -> Bool {
        guard let number = deliverers[passage.mark], let call = calls.first(where: { $0.number == number }),
            call.marks.contains(where: { self.passage($0)?.isSettled(before: passage.offered) == false })
        else { return false }
        return registrations.indices.contains { new in
            predecessor(of: new) == call.registration && registrations[new].from.map { $0 < passage.offered } ?? false
                && registrations[new].until.map { $0 > passage.taken } ?? true
                && registrations[new].plugin.sources.contains(passage.mark.source)
                && registrations[new].plugin.action == message(of: passage).action
        }
    }

    /// Whether it was delivered by a call of a plugin whose place was taken since: what comes for the new one may wait for it.
    func mayWaitForItsPredecessor(_ passage: Passage) -> Bool {
        guard let number = deliverers[passage.mark], let call = calls.first(where: { $0.number == number }) else {
            return false
        }
        let old = registrations[call.registration]
        return old.plugin.action == message(of: passage).action && old.plugin.order != .none
            && old.until.map { $0 < passage.taken } ?? false
    }

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
