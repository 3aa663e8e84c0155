import SignalboxCore

extension Invariant {
    static let neverMoreCallsThanAllowed = Invariant(
        "neverMoreCallsThanAllowed",
        """
        At most `maxConcurrent` calls of a plugin are running, those that were settled without waiting \
        for them counted.
        """
    ) { ledger in
        ledger.calls.compactMap { call in
            let most = ledger.plugin(of: call).maxConcurrent
            let running = ledger.calls.filter { $0.registration == call.registration && $0.isRunning(at: call.began) }
            guard running.count >= most else { return nil }
            let text = "registration \(call.registration) had \(running.count + 1) calls at once, of \(most)"
            return Ledger.Fault(at: call.began, text: text)
        }
    }

    static let oneCallPerSourceOrKey = Invariant(
        "oneCallPerSourceOrKey",
        "Of a source, or of a key, one call runs at a time where the plugin's order says so."
    ) { ledger in
        ledger.calls.compactMap { call in
            let strands = ledger.strands(of: call)
            let other = ledger.calls.first { other in
                other.registration == call.registration && other.isRunning(at: call.began)
                    && !strands.isDisjoint(with: ledger.strands(of: other))
            }
            guard let other else { return nil }
            let text = "call \(call.number) began while call \(other.number) of the same source or key was running"
            return Ledger.Fault(at: call.began, text: text)
        }
    }

    static let orderIsKept = Invariant(
        "orderIsKept",
        """
        Calls of a source, or of a key, begin in the order in which the arrivals were submitted; all \
        attempts at one before the next. Where the order is `none`, the first attempts begin in the \
        order of their source; those of several places are handed out in that order, and begin within \
        the same tick.
        """
    ) { ledger in
        ledger.registrations.indices.flatMap { registration -> [Ledger.Fault] in
            let plugin = ledger.registrations[registration].plugin
            var last: [Strand: (passage: Passage, first: Int, end: Int)] = [:]
            return ledger.called(registration).compactMap { passage -> Ledger.Fault? in
                let attempts = ledger.attempts(of: passage)
                guard let first = attempts.first?.began, let end = attempts.last?.began else { return nil }
                let isFree = plugin.order == .none
                let strand = ledger.lineage(of: passage, in: plugin)
                defer { last[strand] = (passage, first, end) }
                guard let before = last[strand] else { return nil }
                // One call of a batch plugin begins for all its arrivals.
                let isRight = plugin.kind == .batch || isFree ? before.first <= first : before.end < first
                let isAtOnce = isFree && plugin.maxConcurrent > 1 && ledger.ticks[before.first] == ledger.ticks[first]
                if isRight || isAtOnce { return nil }
                let text = "\(passage.mark) was called before all of \(before.passage.mark), which was submitted first"
                return Ledger.Fault(at: first, text: text)
            }
        }
    }
}

extension Ledger {
    /// Returns the group that keeps the order of submission. Sources take turns, so each has its own group.
    fileprivate func lineage(of passage: Passage, in plugin: PluginScenario) -> Strand {
        plugin.order == .key ? .keyOfSource(message(of: passage).key, passage.intake) : .source(passage.intake)
    }

    fileprivate func strands(of call: CallRecord) -> Set<Strand> {
        let plugin = plugin(of: call)
        return Set(call.marks.compactMap { passage($0) }.map { strand(of: $0, in: plugin) })
    }
}

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

    /// Returns the turns of the sources in order. An arrival that the lane rejects takes a turn too.
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

    /// Returns whether the arrival could have been called at any time in the interval and was not.
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
    /// Returns an arrival that waits for a registration without a call that could have had one at an earlier tick.
    fileprivate func isHeldBack(_ new: Int, from before: Int, to position: Int) -> Passage? {
        let registration = registrations[new]
        let own = passages.filter { message(of: $0).action == registration.plugin.action && wasRouted($0) }
        guard let from = registration.from, from < before,
            !calls.contains(where: { $0.registration == new && $0.began < position }),
            own.allSatisfy({ asked($0) > from || $0.isSettled(before: before) })
        else { return nil }
        return own.first { passage in
            // Middleware decides other arrivals without a call.
            passage.taken < before && asked(passage) > from && !passage.isSettled(before: position)
                && !sharesID(passage)
                && registration.until.map { $0 > asked(passage) } ?? true && !isLeftOut(passage)
                && !own.contains { asked($0) > from && hasBegun($0, before: position) }
        }
    }

    /// Returns the registration that this one replaced, if both promise an order.
    func predecessor(of new: Int) -> Int? {
        guard let from = registrations[new].from, registrations[new].plugin.order != .none else { return nil }
        return registrations.indices.first { old in
            old != new && registrations[old].until == from && registrations[old].plugin.order != .none
                && registrations[old].plugin.action == registrations[new].plugin.action
        }
    }
}

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
            // An arrival that does not reach the lane, or waits at a stalled lane, has another outcome at once.
            guard settled.at > passage.taken else { return nil }
            return Ledger.Fault(at: settled.at, text: "\(passage.mark) waited for the call that delivered it")
        }
    }
}

extension Ledger {
    /// Returns whether a call of the replaced plugin, for which the new one waits, delivered the arrival.
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

    /// Returns whether a call of a since replaced plugin delivered the arrival. Its successor may wait for the call.
    func mayWaitForItsPredecessor(_ passage: Passage) -> Bool {
        guard let number = deliverers[passage.mark], let call = calls.first(where: { $0.number == number }) else {
            return false
        }
        let old = registrations[call.registration]
        return old.plugin.action == message(of: passage).action && old.plugin.order != .none
            && old.until.map { $0 < passage.taken } ?? false
    }

    /// Returns whether the call that delivered the arrival must return before the arrival can be called.
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
