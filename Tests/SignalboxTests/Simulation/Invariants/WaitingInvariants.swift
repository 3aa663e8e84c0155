import SignalboxCore

extension Invariant {
    static let noArrivalWaitsWithoutCause = Invariant(
        "noArrivalWaitsWithoutCause",
        """
        When no job is ready, no arrival waits that a free worker of its plugin could call.
        """
    ) { history in
        guard let began = history.began else { return [] }
        let end = history.stopped ?? history.ended?.at ?? history.events.count
        var reported: Set<ArrivalMark> = []
        return history.events.indices.flatMap { position -> [History.Anomaly] in
            guard case .tick = history.events[position], position > began, position < end else { return [] }
            return history.arrivals.compactMap { arrival in
                guard !reported.contains(arrival.mark), history.couldBegin(arrival, at: position) else { return nil }
                reported.insert(arrival.mark)
                return History.Anomaly(
                    at: position,
                    text: "\(arrival.mark) waits although a worker of its plugin is free"
                )
            }
        }
    }
}

extension History {
    fileprivate func couldBegin(_ arrival: ArrivalHistory, at position: Int) -> Bool {
        guard !sharesID(arrival), arrival.taken < position, !arrival.isSettled(before: position),
            !hasBegun(arrival, before: position),
            let registration = onlyRegistration(of: message(of: arrival).action),
            registration.until.map({ $0 > position }) ?? true, registration.from.map({ $0 < arrival.offered }) ?? false
        else { return false }
        let plugin = registration.plugin
        guard plugin.kind != .batch || !isLeftOutOfBatches(arrival) else { return false }
        let others = arrivals.filter { message(of: $0).action == plugin.action && $0.mark != arrival.mark }
        let running = others.filter { isRunning($0, at: position) }
        // A call of a batch plugin has several arrivals.
        let calls = plugin.kind == .batch ? Set(running.compactMap { $0.calls.last }).count : running.count
        guard calls < plugin.maxConcurrent else { return false }
        let own = group(of: arrival, in: plugin)
        return !others.contains { other in
            guard group(of: other, in: plugin) == own else { return false }
            return isRunning(other, at: position)
                || (hasBegun(other, before: position) && !other.isSettled(before: position))
        }
    }

    private func isRunning(_ arrival: ArrivalHistory, at position: Int) -> Bool {
        attempts(of: arrival).contains { $0.isRunning(at: position) }
    }
}

extension Invariant {
    static let stalledLaneIsUnavailable = Invariant(
        "stalledLaneIsUnavailable",
        """
        While all of a plugin's concurrent calls are stalled, no arrival waits for the plugin. With an order by source, no \
        arrival waits behind a stalled call of its source.
        """
    ) { history in
        guard let began = history.began else { return [] }
        let end = history.stopped ?? history.ended?.at ?? history.events.count
        var reported: Set<ArrivalMark> = []
        return history.events.indices.flatMap { position -> [History.Anomaly] in
            guard case .tick = history.events[position], position > began, position < end else { return [] }
            return history.arrivals.compactMap { arrival in
                guard !reported.contains(arrival.mark), history.waitsInVain(arrival, at: position) else { return nil }
                reported.insert(arrival.mark)
                return History.Anomaly(at: position, text: "\(arrival.mark) waits for a stalled plugin")
            }
        }
    }
}

extension History {
    fileprivate func waitsInVain(_ arrival: ArrivalHistory, at position: Int) -> Bool {
        guard !sharesID(arrival), arrival.taken < position, !arrival.isSettled(before: position),
            !hasBegun(arrival, before: position),
            let registration = onlyRegistration(of: message(of: arrival).action), !isLeftOut(arrival)
        else { return false }
        let plugin = registration.plugin
        let stalled = arrivals.filter { other in
            message(of: other).action == plugin.action && other.isSettled(before: position)
                && attempts(of: other).contains { $0.isRunning(at: position) }
        }
        if plugin.order == .source, stalled.contains(where: { $0.intake == arrival.intake }) { return true }
        // A call of a batch plugin has several arrivals.
        let calls = plugin.kind == .batch ? Set(stalled.compactMap { $0.calls.last }).count : stalled.count
        return calls >= plugin.maxConcurrent
    }
}

extension Invariant {
    static let timeoutIsEnforced = Invariant(
        "timeoutIsEnforced",
        "A call is timed out no earlier than its timeout and at most two ticks later."
    ) { history in
        history.arrivals.flatMap { arrival -> [History.Anomaly] in
            guard let timeout = history.timeout(of: arrival) else { return [] }
            return history.attempts(of: arrival).compactMap { attempt in
                let settled = arrival.settled.first?.at ?? .max
                // A timeout that is reported too early is an anomaly as well.
                let end = min(settled, attempt.ended ?? .max, history.ended?.at ?? .max)
                guard attempt.began < end, end < history.ticks.count else { return nil }
                let ticks = history.ticks[end] - history.ticks[attempt.began]
                let isTimeout = arrival.failure?.reason == .timeout && end == settled && attempt.isRunning(at: settled)
                if ticks <= timeout + 2, !isTimeout || ticks >= timeout { return nil }
                let text = "\(arrival.mark): a call with a timeout of \(timeout) ticks was settled after \(ticks)"
                return History.Anomaly(at: end, text: text)
            }
        }
    }

    static let ackDeadlineIsEnforced = Invariant(
        "ackDeadlineIsEnforced",
        """
        An arrival of a source that redelivers begins, or is abandoned at its ack deadline, minus the elapsed part of \
        the tick in which it arrived.
        """
    ) { history in
        history.arrivals.compactMap { arrival in
            guard history.source(of: arrival).features.contains(.redelivers), !arrival.isDuplicate,
                let began = history.began
            else { return nil }
            let from = history.ticks[max(arrival.offered, began)]
            let attempts = history.attempts(of: arrival)
            let begun = attempts.first?.began
            guard let end = [begun, arrival.settled.first?.at, history.ended?.at].compactMap({ $0 }).min() else {
                return nil
            }
            let ticks = history.ticks[end] - from
            let limit = history.scenario.ackDeadline
            let isAbandoned = arrival.settled.first?.at == end && arrival.outcome == .abandoned(.ackDeadline)
            let isEarly = isAbandoned && ticks < limit - 1
            if let late = attempts.first(where: { history.ticks[$0.began] - from > limit + 1 }) {
                return History.Anomaly(at: late.began, text: "\(arrival.mark) was called after its ack deadline")
            }
            // The arrivals that a batch call leaves out are settled at its end.
            guard (ticks > limit + 1 && !history.isLeftOut(arrival)) || isEarly else { return nil }
            return History.Anomaly(at: end, text: "\(arrival.mark) waited for \(ticks) ticks, limit \(limit)")
        }
    }

    static let drainLimitIsEnforced = Invariant(
        "drainLimitIsEnforced",
        "A drain ends within its limit, and a cancelled run ends immediately, regardless of the plugins."
    ) { history in
        guard let ended = history.ended, let stopped = history.stopped, let began = history.began else { return [] }
        let ticks = history.ticks[ended.at] - history.ticks[max(stopped, began)]
        let limit = history.scenario.isCancelled ? 0 : history.scenario.drainLimit
        guard ticks > limit + 1 else { return [] }
        return [History.Anomaly(at: ended.at, text: "the drain took \(ticks) ticks, limit \(limit)")]
    }
}

extension History {
    /// Returns the timeout in ticks, or `nil` unless exactly one registration can have called the arrival.
    fileprivate func timeout(of arrival: ArrivalHistory) -> Int? {
        guard let registration = onlyRegistration(of: message(of: arrival).action) else { return nil }
        return registration.plugin.timeout ?? scenario.timeout
    }
}
