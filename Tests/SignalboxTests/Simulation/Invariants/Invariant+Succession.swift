import SignalboxCore

extension Invariant {
    static let successorsWait = Invariant(
        "successorsWait",
        """
        Where both promise an order, a plugin that takes the place of another begins when nothing of that one is left \
        unsettled.
        """
    ) { ledger in
        ledger.registrations.indices.flatMap { new -> [Ledger.Fault] in
            guard let old = ledger.predecessor(of: new) else { return [] }
            let before = ledger.called(old)
            return ledger.calls.compactMap { call in
                guard call.registration == new, let left = before.first(where: { !$0.isSettled(before: call.began) })
                else { return nil }
                let text =
                    "call \(call.number) of registration \(new) began before \(left.mark) of the one before was settled"
                return Ledger.Fault(at: call.began, text: text)
            }
        }
    }

    static let successorsBegin = Invariant(
        "successorsBegin",
        """
        A plugin that waits for the one whose place it took begins as soon as nothing of that one is left unsettled, also \
        when a call of that one never returns.
        """
    ) { ledger in
        guard let began = ledger.began else { return [] }
        let end = ledger.stopped ?? ledger.ended?.at ?? ledger.events.count
        return ledger.registrations.indices.flatMap { new -> [Ledger.Fault] in
            guard ledger.predecessor(of: new) != nil else { return [] }
            var before = 0
            for (position, event) in ledger.events.enumerated() {
                guard case .tick = event, position > began, position < end else { continue }
                if let left = ledger.isHeldBack(new, from: before, to: position) {
                    return [Ledger.Fault(at: position, text: "\(left.mark) waits for a plugin that has nothing left")]
                }
                before = position
            }
            return []
        }
    }
}

extension Ledger {
    /// What waits for a registration that has not begun, and could have at an earlier tick.
    fileprivate func isHeldBack(_ new: Int, from before: Int, to position: Int) -> Passage? {
        let registration = registrations[new]
        let own = passages.filter { message(of: $0).action == registration.plugin.action && wasRouted($0) }
        guard let from = registration.from, from < before,
            !calls.contains(where: { $0.registration == new && $0.began < position }),
            own.allSatisfy({ asked($0) > from || $0.isSettled(before: before) })
        else { return nil }
        return own.first { passage in
            // Others have been decided by middleware, without a call.
            passage.taken < before && asked(passage) > from && !passage.isSettled(before: position)
                && !sharesID(passage)
                && registration.until.map { $0 > asked(passage) } ?? true && !isLeftOut(passage)
                && !own.contains { asked($0) > from && hasBegun($0, before: position) }
        }
    }

    /// The registration whose place this one took, where both promise an order.
    func predecessor(of new: Int) -> Int? {
        guard let from = registrations[new].from, registrations[new].plugin.order != .none else { return nil }
        return registrations.indices.first { old in
            old != new && registrations[old].until == from && registrations[old].plugin.order != .none
                && registrations[old].plugin.action == registrations[new].plugin.action
        }
    }
}
