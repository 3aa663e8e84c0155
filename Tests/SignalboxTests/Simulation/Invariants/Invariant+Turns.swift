import SignalboxCore

extension Invariant {
    static let sourcesTakeTurns = Invariant(
        "sourcesTakeTurns",
        """
        Of several sources that wait for one serial plugin none gets two calls in a row; where the \
        order is `none`, none gets three.
        """
    ) { ledger in
        ledger.registrations.flatMap { registration -> [Ledger.Fault] in
            let plugin = registration.plugin
            guard plugin.maxConcurrent == 1, plugin.order != .key, plugin.kind != .batch,
                registration.from != nil, registration.until == nil, ledger.onlyRegistration(of: plugin.action) != nil
            else { return [] }
            let most = plugin.order == .source ? 1 : 2
            let turns = ledger.turns(of: plugin.action)
            return turns.indices.dropFirst(most).compactMap { last in
                let row = turns[(last - most)...last]
                guard let first = row.first, row.allSatisfy({ $0.intake == first.intake }) else { return nil }
                let left = ledger.passages.first { passage in
                    passage.intake != first.intake
                        && ledger.waits(passage, for: plugin, from: first.at, to: turns[last].at)
                }
                guard let left else { return nil }
                let text = "\(first.intake) had \(row.count) calls in a row while \(left.mark) waited"
                return Ledger.Fault(at: turns[last].at, text: text)
            }
        }
    }
}

extension Ledger {
    fileprivate struct Turn {
        let intake: IntakeMark
        let at: Int
    }

    /// Which source was called when; what was rejected on the lane has had its turn too.
    fileprivate func turns(of action: Int) -> [Turn] {
        let own = passages.filter { message(of: $0).action == action && !$0.isRepeat }
        let turns = own.flatMap { passage -> [Turn] in
            let attempts = attempts(of: passage)
            let isOnLane = passage.rejection == .invalidBody
            let rejected = isOnLane && attempts.isEmpty ? passage.settled.prefix(1).map(\.at) : []
            return (attempts.map(\.began) + rejected).map { Turn(intake: passage.intake, at: $0) }
        }
        return turns.sorted { $0.at < $1.at }
    }

    /// Whether the arrival could have been called all the time, and was not.
    fileprivate func waits(_ passage: Passage, for plugin: PluginScenario, from: Int, to: Int) -> Bool {
        guard !sharesID(passage), message(of: passage).action == plugin.action,
            plugin.sources.contains(passage.mark.source),
            max(passage.taken, began ?? .max) < from, !passage.isSettled(before: to + 1),
            message(of: passage).content != .unreadable, !hasBegun(passage, before: to + 1)
        else { return false }
        guard plugin.order == .source else { return true }
        return !passages.contains { other in
            other.intake == passage.intake && message(of: other).action == plugin.action
                && hasBegun(other, before: to) && !other.isSettled(before: from)
        }
    }
}
