import SignalboxCore

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
        // A call of a batch plugin has several arrivals.
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
        // A call of a batch plugin has several arrivals.
        let calls = plugin.kind == .batch ? Set(stalled.compactMap { $0.calls.last }).count : stalled.count
        return calls >= plugin.maxConcurrent
    }
}

extension Invariant {
    static let timeoutIsKept = Invariant(
        "timeoutIsKept",
        "A call has at least its timeout and at most two ticks more; then it is settled without it."
    ) { ledger in
        ledger.passages.flatMap { passage -> [Ledger.Fault] in
            guard let timeout = ledger.timeout(of: passage) else { return [] }
            return ledger.attempts(of: passage).compactMap { attempt in
                let settled = passage.settled.first?.at ?? .max
                // A timeout that is reported too early is a fault as well.
                let end = min(settled, attempt.ended ?? .max, ledger.ended?.at ?? .max)
                guard attempt.began < end, end < ledger.ticks.count else { return nil }
                let ticks = ledger.ticks[end] - ledger.ticks[attempt.began]
                let isTimeout = passage.failure?.reason == .timeout && end == settled && attempt.isRunning(at: settled)
                if ticks <= timeout + 2, !isTimeout || ticks >= timeout { return nil }
                let text = "\(passage.mark): a call with a timeout of \(timeout) ticks was let go after \(ticks)"
                return Ledger.Fault(at: end, text: text)
            }
        }
    }

    static let holdLimitIsKept = Invariant(
        "holdLimitIsKept",
        """
        What a source that redelivers has inside begins, or is abandoned when the hold limit is over, \
        less the part of a tick that had gone by when it came.
        """
    ) { ledger in
        ledger.passages.compactMap { passage in
            guard ledger.source(of: passage).features.contains(.redelivers), !passage.isRepeat, let began = ledger.began
            else { return nil }
            let from = ledger.ticks[max(passage.offered, began)]
            let attempts = ledger.attempts(of: passage)
            let begun = attempts.first?.began
            guard let end = [begun, passage.settled.first?.at, ledger.ended?.at].compactMap({ $0 }).min() else {
                return nil
            }
            let ticks = ledger.ticks[end] - from
            let limit = ledger.scenario.holdLimit
            let isLetGo = passage.settled.first?.at == end && passage.outcome == .abandoned(.holdLimit)
            let isEarly = isLetGo && ticks < limit - 1
            if let late = attempts.first(where: { ledger.ticks[$0.began] - from > limit + 1 }) {
                return Ledger.Fault(at: late.began, text: "\(passage.mark) was called when the hold limit was over")
            }
            // The arrivals that a batch call leaves out are settled at its end.
            guard (ticks > limit + 1 && !ledger.isLeftOut(passage)) || isEarly else { return nil }
            return Ledger.Fault(at: end, text: "\(passage.mark) was held for \(ticks) ticks, of \(limit)")
        }
    }

    static let drainLimitIsKept = Invariant(
        "drainLimitIsKept",
        "A drain ends within its limit, a cancelled run at once, whatever the plugins do."
    ) { ledger in
        guard let ended = ledger.ended, let stopped = ledger.stopped, let began = ledger.began else { return [] }
        let ticks = ledger.ticks[ended.at] - ledger.ticks[max(stopped, began)]
        let limit = ledger.scenario.isCancelled ? 0 : ledger.scenario.drainLimit
        guard ticks > limit + 1 else { return [] }
        return [Ledger.Fault(at: ended.at, text: "the drain took \(ticks) ticks, of \(limit)")]
    }
}

extension Ledger {
    /// Returns the timeout in ticks, or `nil` unless exactly one registration can have called the arrival.
    fileprivate func timeout(of passage: Passage) -> Int? {
        guard let registration = onlyRegistration(of: message(of: passage).action) else { return nil }
        return registration.plugin.timeout ?? scenario.timeout
    }
}
