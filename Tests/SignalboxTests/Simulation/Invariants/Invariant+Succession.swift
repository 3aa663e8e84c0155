extension Invariant {
    /// A plugin that took the place of another begins when all that the other was called for is settled, where both have an
    /// order.
    static let successorsWait = Invariant(name: "successorsWait") { ledger in
        ledger.calls.compactMap { call in
            let before = ledger.predecessors(of: call.registration)
            let early = ledger.calls.first { other in
                guard before.contains(other.registration) else { return false }
                let passages = other.marks.compactMap { ledger.passage($0) }
                return other.began > call.began || passages.contains { !$0.isSettled(before: call.began) }
            }
            guard let early else { return nil }
            let text =
                "call \(call.number) began before what call \(early.number) of the plugin before was for was settled"
            return Ledger.Fault(at: call.began, text: text)
        }
    }
}

extension Ledger {
    /// Those whose place a registration took, and whose places these took, as long as all have an order.
    fileprivate func predecessors(of registration: Int) -> Set<Int> {
        var found: Set<Int> = []
        var place = registration
        while registrations[place].plugin.order != .none, let from = registrations[place].from,
            let before = registrations.indices.first(where: { other in
                other != place && registrations[other].plugin.action == registrations[place].plugin.action
                    && registrations[other].until == from
            }), registrations[before].plugin.order != .none
        {
            found.insert(before)
            place = before
        }
        return found
    }
}
