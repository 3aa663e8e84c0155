import SignalboxCore

extension Invariant {
    static let concurrencyLimitIsNotExceeded = Invariant(
        "concurrencyLimitIsNotExceeded",
        """
        At most `maxConcurrent` calls of a plugin are running, including calls that were settled before they returned.
        """
    ) { history in
        history.calls.compactMap { call in
            let most = history.plugin(of: call).maxConcurrent
            let running = history.calls.filter { $0.registration == call.registration && $0.isRunning(at: call.began) }
            guard running.count >= most else { return nil }
            let text =
                "registration \(call.registration) had \(running.count + 1) concurrent calls, at most \(most) allowed"
            return History.Anomaly(at: call.began, text: text)
        }
    }

    static let oneCallPerSourceOrKey = Invariant(
        "oneCallPerSourceOrKey",
        "With an order by source or key, one call runs at a time for each source or key."
    ) { history in
        history.calls.compactMap { call in
            let groups = history.groups(of: call)
            let other = history.calls.first { other in
                other.registration == call.registration && other.isRunning(at: call.began)
                    && !groups.isDisjoint(with: history.groups(of: other))
            }
            guard let other else { return nil }
            let text = "call \(call.number) began while call \(other.number) of the same source or key was running"
            return History.Anomaly(at: call.began, text: text)
        }
    }

    static let orderIsPreserved = Invariant(
        "orderIsPreserved",
        """
        Calls of a source or key begin in the order of submission, and all attempts of an arrival precede the next \
        arrival. With the order `none`, the first attempts begin in the order of their source. Several workers receive \
        them in that order and begin within the same tick.
        """
    ) { history in
        history.registrations.indices.flatMap { registration -> [History.Anomaly] in
            let plugin = history.registrations[registration].plugin
            var last: [OrderingGroupID: (arrival: ArrivalHistory, first: Int, end: Int)] = [:]
            return history.called(registration).compactMap { arrival -> History.Anomaly? in
                let attempts = history.attempts(of: arrival)
                guard let first = attempts.first?.began, let end = attempts.last?.began else { return nil }
                let isFree = plugin.order == .none
                let group = history.submissionGroup(of: arrival, in: plugin)
                defer { last[group] = (arrival, first, end) }
                guard let before = last[group] else { return nil }
                // One call of a batch plugin begins for all its arrivals.
                let isRight = plugin.kind == .batch || isFree ? before.first <= first : before.end < first
                let isAtOnce = isFree && plugin.maxConcurrent > 1 && history.ticks[before.first] == history.ticks[first]
                if isRight || isAtOnce { return nil }
                let text = "\(arrival.mark) was called before \(before.arrival.mark), which was submitted first"
                return History.Anomaly(at: first, text: text)
            }
        }
    }
}

extension History {
    /// Returns the group that keeps the order of submission. Sources take turns, so each has its own group.
    fileprivate func submissionGroup(of arrival: ArrivalHistory, in plugin: PluginScenario) -> OrderingGroupID {
        plugin.order == .key ? .keyOfSource(message(of: arrival).key, arrival.intake) : .source(arrival.intake)
    }

    fileprivate func groups(of call: CallRecord) -> Set<OrderingGroupID> {
        let plugin = plugin(of: call)
        return Set(call.marks.compactMap { arrival($0) }.map { group(of: $0, in: plugin) })
    }
}

extension Invariant {
    static let sourcesTakeTurns = Invariant(
        "sourcesTakeTurns",
        """
        If several sources wait for a serial plugin, no source has two consecutive calls, or three with the order \
        `none`.
        """
    ) { history in
        history.registrations.flatMap { registration -> [History.Anomaly] in
            let plugin = registration.plugin
            guard plugin.maxConcurrent == 1, plugin.order != .key, plugin.kind != .batch,
                registration.from != nil, registration.until == nil, history.onlyRegistration(of: plugin.action) != nil
            else { return [] }
            let most = plugin.order == .source ? 1 : 2
            let turns = history.turns(of: plugin.action)
            return turns.indices.dropFirst(most).compactMap { last in
                let row = turns[(last - most)...last]
                guard let first = row.first, row.allSatisfy({ $0.intake == first.intake }) else { return nil }
                let left = history.arrivals.first { arrival in
                    arrival.intake != first.intake
                        && history.waits(arrival, for: plugin, from: first.at, to: turns[last].at)
                }
                guard let left else { return nil }
                let text = "\(first.intake) had \(row.count) consecutive calls while \(left.mark) waited"
                return History.Anomaly(at: turns[last].at, text: text)
            }
        }
    }
}

extension History {
    fileprivate struct Turn {
        let intake: IntakeMark
        let at: Int
    }

    /// Returns the turns of the sources in order. An arrival that the lane rejects takes a turn too.
    fileprivate func turns(of action: Int) -> [Turn] {
        let own = arrivals.filter { message(of: $0).action == action && !$0.isDuplicate }
        let turns = own.flatMap { arrival -> [Turn] in
            let attempts = attempts(of: arrival)
            let isOnLane = arrival.rejection == .invalidBody
            let rejected = isOnLane && attempts.isEmpty ? arrival.settled.prefix(1).map(\.at) : []
            return (attempts.map(\.began) + rejected).map { Turn(intake: arrival.intake, at: $0) }
        }
        return turns.sorted { $0.at < $1.at }
    }

    /// Returns whether the arrival could have been called at any time in the interval and was not.
    fileprivate func waits(_ arrival: ArrivalHistory, for plugin: PluginScenario, from: Int, to: Int) -> Bool {
        guard !sharesID(arrival), message(of: arrival).action == plugin.action,
            plugin.sources.contains(arrival.mark.source),
            max(arrival.taken, began ?? .max) < from, !arrival.isSettled(before: to + 1),
            message(of: arrival).content != .unreadable, !hasBegun(arrival, before: to + 1)
        else { return false }
        guard plugin.order == .source else { return true }
        return !arrivals.contains { other in
            other.intake == arrival.intake && message(of: other).action == plugin.action
                && hasBegun(other, before: to) && !other.isSettled(before: from)
        }
    }
}

extension Invariant {
    static let replacementsWait = Invariant(
        "replacementsWait",
        """
        If both plugins have an order, a replacement starts after every arrival of its predecessor is settled.
        """
    ) { history in
        history.registrations.indices.flatMap { new -> [History.Anomaly] in
            guard let old = history.predecessor(of: new) else { return [] }
            let before = history.called(old)
            return history.calls.compactMap { call in
                guard call.registration == new, let left = before.first(where: { !$0.isSettled(before: call.began) })
                else { return nil }
                let text =
                    "call \(call.number) of registration \(new) began before \(left.mark) of its predecessor was settled"
                return History.Anomaly(at: call.began, text: text)
            }
        }
    }

    static let replacementsStart = Invariant(
        "replacementsStart",
        """
        A replacement starts as soon as every arrival of its predecessor is settled, even if a call of the predecessor \
        never returns.
        """
    ) { history in
        guard let began = history.began else { return [] }
        let end = history.stopped ?? history.ended?.at ?? history.events.count
        return history.registrations.indices.flatMap { new -> [History.Anomaly] in
            guard history.predecessor(of: new) != nil else { return [] }
            var before = 0
            for (position, event) in history.events.enumerated() {
                guard case .tick = event, position > began, position < end else { continue }
                if let left = history.arrivalWaitingForPredecessor(new, from: before, to: position) {
                    return [
                        History.Anomaly(
                            at: position,
                            text: "\(left.mark) waits for a predecessor without unsettled arrivals"
                        )
                    ]
                }
                before = position
            }
            return []
        }
    }
}

extension History {
    /// Returns an arrival that waits for a registration without a call that could have had one at an earlier tick.
    fileprivate func arrivalWaitingForPredecessor(_ new: Int, from before: Int, to position: Int) -> ArrivalHistory? {
        let registration = registrations[new]
        let own = arrivals.filter { message(of: $0).action == registration.plugin.action && wasRouted($0) }
        guard let from = registration.from, from < before,
            !calls.contains(where: { $0.registration == new && $0.began < position }),
            own.allSatisfy({ routedAt($0) > from || $0.isSettled(before: before) })
        else { return nil }
        return own.first { arrival in
            // Middleware decides other arrivals without a call.
            arrival.taken < before && routedAt(arrival) > from && !arrival.isSettled(before: position)
                && !sharesID(arrival)
                && registration.until.map { $0 > routedAt(arrival) } ?? true && !isLeftOut(arrival)
                && !own.contains { routedAt($0) > from && hasBegun($0, before: position) }
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
        A call that awaits an arrival that can begin only after the call returns is refused immediately, without \
        waiting for its timeout.
        """
    ) { history in
        history.arrivals.compactMap { arrival in
            guard history.waitsForItself(arrival) || history.waitsForItsPredecessor(arrival),
                let settled = arrival.settled.first
            else { return nil }
            // An arrival that does not reach the lane, or waits at a stalled lane, has another outcome at once.
            guard settled.at > arrival.taken else { return nil }
            return History.Anomaly(at: settled.at, text: "\(arrival.mark) waited for the call that delivered it")
        }
    }
}

extension History {
    /// Returns whether a call of the replaced plugin, for which the new one waits, delivered the arrival.
    fileprivate func waitsForItsPredecessor(_ arrival: ArrivalHistory) -> Bool {
        guard let number = deliverers[arrival.mark], let call = calls.first(where: { $0.number == number }),
            call.marks.contains(where: { self.arrival($0)?.isSettled(before: arrival.offered) == false })
        else { return false }
        return registrations.indices.contains { new in
            predecessor(of: new) == call.registration && registrations[new].from.map { $0 < arrival.offered } ?? false
                && registrations[new].until.map { $0 > arrival.taken } ?? true
                && registrations[new].plugin.sources.contains(arrival.mark.source)
                && registrations[new].plugin.action == message(of: arrival).action
        }
    }

    /// Returns whether a call of a since replaced plugin delivered the arrival. Its successor may wait for the call.
    func mayWaitForItsPredecessor(_ arrival: ArrivalHistory) -> Bool {
        guard let number = deliverers[arrival.mark], let call = calls.first(where: { $0.number == number }) else {
            return false
        }
        let old = registrations[call.registration]
        return old.plugin.action == message(of: arrival).action && old.plugin.order != .none
            && old.until.map { $0 < arrival.taken } ?? false
    }

    /// Returns whether the call that delivered the arrival must return before the arrival can be called.
    func waitsForItself(_ arrival: ArrivalHistory) -> Bool {
        guard let number = deliverers[arrival.mark], let call = calls.first(where: { $0.number == number }) else {
            return false
        }
        let registration = registrations[call.registration]
        let plugin = registration.plugin
        guard plugin.action == message(of: arrival).action, registration.until.map({ $0 > arrival.taken }) ?? true,
            plugin.sources.contains(arrival.mark.source)
        else { return false }
        if plugin.maxConcurrent == 1 { return true }
        return plugin.order == .source && call.marks.contains { self.arrival($0)?.intake == arrival.intake }
    }
}
