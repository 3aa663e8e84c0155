import SignalboxCore

extension Invariant {
    static let onlyAllowedArrivalsAreCalled = Invariant(
        "onlyAllowedArrivalsAreCalled",
        "A plugin is called only with arrivals that are addressed to it, allowed, readable, in time and valid."
    ) { history in
        history.calls.flatMap { call in
            call.marks.compactMap { mark -> History.Anomaly? in
                guard let arrival = history.arrival(mark) else { return nil }
                let message = history.message(of: arrival)
                let plugin = history.plugin(of: call)
                let error: String? =
                    if message.content != .readable {
                        "whose content is \(message.content)"
                    } else if message.action != plugin.action {
                        "which is for p\(message.action)"
                    } else if !plugin.sources.contains(mark.source) {
                        "whose source it does not allow"
                    } else if message.deadline == .past {
                        "whose deadline had passed"
                    } else if !history.isInForce(call.registration, arrival, call.began) { "after it was removed" } else
                    { nil }
                guard let error else { return nil }
                return History.Anomaly(
                    at: call.began,
                    text: "plugin p\(plugin.action) was called with \(mark), \(error)"
                )
            }
        }
    }

    static let settledArrivalsAreNotCalled = Invariant(
        "settledArrivalsAreNotCalled",
        "No attempt begins after the outcome is known."
    ) { history in
        history.arrivals.flatMap { arrival in
            (arrival.calls.map { history.calls[$0].began } + arrival.middleware.map(\.began)).compactMap { began in
                guard arrival.isSettled(before: began), !history.isInAttempt(arrival, began) else { return nil }
                return History.Anomaly(at: began, text: "\(arrival.mark) was called after it was settled")
            }
        }
    }

    static let attemptsFollowTheRetryPolicy = Invariant(
        "attemptsFollowTheRetryPolicy",
        """
        A call is repeated only after a retryable failure, one attempt at a time, and at most as often as the policy \
        allows.
        """
    ) { history in
        history.arrivals.flatMap { arrival -> [History.Anomaly] in
            var anomalies: [History.Anomaly] = []
            var before: CallRecord?
            for call in arrival.calls.map({ history.calls[$0] }) {
                let attempts = history.plugin(of: call).retry?.attempts ?? 1
                let what = "\(arrival.mark) was called with attempt \(call.attempt)"
                if call.attempt > attempts {
                    anomalies.append(History.Anomaly(at: call.began, text: "\(what), at most \(attempts) allowed"))
                }
                if let before, !history.mayFollow(before, call, arrival) {
                    let text = "\(what) after attempt \(before.attempt), which had no retryable failure"
                    anomalies.append(History.Anomaly(at: call.began, text: text))
                }
                before = call
            }
            return anomalies
        }
    }

    static let attemptsAreReported = Invariant(
        "attemptsAreReported",
        "Observers receive the number of attempts. An attempt that failed to decode the body may count."
    ) { history in
        history.arrivals.compactMap { arrival in
            guard let observed = arrival.observed.first else { return nil }
            let made = arrival.isDuplicate ? 0 : history.attempts(of: arrival).filter { $0.began < observed.at }.count
            let isAtBody = arrival.rejection == .invalidBody || history.isInBatchCall(arrival, observed.at)
            let atBody = isAtBody && !arrival.isDuplicate ? 1 : made
            guard arrival.reportedAttempts != made, arrival.reportedAttempts != atBody else { return nil }
            let text = "\(arrival.mark) had \(made) attempts, but \(arrival.reportedAttempts) were reported"
            return History.Anomaly(at: observed.at, text: text)
        }
    }
}

extension History {
    /// Returns whether middleware is running for the arrival. It may run on after the arrival is settled.
    fileprivate func isInAttempt(_ arrival: ArrivalHistory, _ position: Int) -> Bool {
        arrival.middleware.contains { passing in
            passing.began < position && passing.ended.map { $0 > position } ?? true
        }
    }

    /// Returns whether the registration was in force at some time between the routing of an arrival and its call.
    fileprivate func isInForce(_ registration: Int, _ arrival: ArrivalHistory, _ call: Int) -> Bool {
        guard let from = registrations[registration].from, from < call else { return false }
        guard let until = registrations[registration].until else { return true }
        return until > routedAt(arrival)
    }

    fileprivate func mayFollow(_ before: CallRecord, _ call: CallRecord, _ arrival: ArrivalHistory) -> Bool {
        guard call.attempt > before.attempt, let ended = before.ended, ended < call.began else { return false }
        if before.result == .failed(retryable: true) { return true }
        return arrival.middleware.contains { $0.attempt >= before.attempt && $0.act == .fails(retryable: true) }
    }
}

extension Invariant {
    static let outcomeHasItsCause = Invariant(
        "outcomeHasItsCause",
        """
        Each outcome has its cause: a reply comes from its call, a rejection from its reason, and a failure from its \
        call.
        """
    ) { history in
        history.arrivals.compactMap { arrival in
            guard let settled = arrival.settled.first, !history.hasCause(arrival, settled) else { return nil }
            let text = "\(arrival.mark) (m\(arrival.message)) is \(settled.outcome.code) without a cause"
            return History.Anomaly(at: settled.at, text: text)
        }
    }
}

extension History {
    fileprivate func hasCause(_ arrival: ArrivalHistory, _ settled: ArrivalHistory.ReportedOutcome) -> Bool {
        if arrival.isDuplicate { return true }
        return switch settled.outcome {
        case .handled(let reply): isReply(reply, arrival, settled.at)
        case .rejected(let rejection): hasReason(rejection, arrival, settled.at)
        case .failed(let failure): hasFailed(failure, arrival, settled.at)
        case .abandoned(let abandonment): hasAbandonmentCause(abandonment, arrival, settled.at)
        }
    }

    private func isReply(_ reply: Bytes?, _ arrival: ArrivalHistory, _ at: Int) -> Bool {
        if reply?.text == "-1" { return arrival.middleware.contains { $0.act == .answers } }
        return arrival.calls.contains { index in
            let call = calls[index]
            let isOwn = plugin(of: call).kind == .batch ? reply == nil : reply?.text == "\(call.number)"
            return isOwn && call.result == .returned && call.ended.map { $0 < at } ?? false
        }
    }

    private func hasReason(_ rejection: Outcome.Rejection, _ arrival: ArrivalHistory, _ at: Int) -> Bool {
        let message = message(of: arrival)
        return switch rejection.reason {
        case .malformed: message.content == .unreadable
        case .invalidBody: message.content == .invalidBody
        case .expired: message.deadline == .past
        case .unknownAction: wasWithoutPlugin(message.action, routedAt(arrival)...max(at, routedAt(arrival)))
        case .sourceNotAllowed: wasForbidden(arrival, at)
        case .unavailable where rejection.detail == SimulatedMiddleware.detail:
            arrival.middleware.contains { $0.act == .rejects }
        case .unavailable where arrival.refusal == .breaker:
            registrations.contains { $0.plugin.action == message.action && $0.plugin.breaker != nil }
        case .unavailable: hadStalledCall(message.action, at)
        case .overloaded: true
        case .idConflict: hasConflict(arrival)
        case .reentrant: waitsForItself(arrival) || mayWaitForItsPredecessor(arrival)
        default: false
        }
    }

    private func hasFailed(_ failure: Outcome.Failure, _ arrival: ArrivalHistory, _ at: Int) -> Bool {
        if failure.reason == .timeout { return hasBegun(arrival, before: at) || isInBatchCall(arrival, at) }
        if arrival.middleware.contains(where: { if case .fails = $0.act { $0.began < at } else { false } }) {
            return true
        }
        guard let call = arrival.calls.last.map({ calls[$0] }), let ended = call.ended, ended < at else { return false }
        if case .failed? = call.result { return true }
        return false
    }

    private func hasAbandonmentCause(_ abandonment: Outcome.Abandonment, _ arrival: ArrivalHistory, _ at: Int) -> Bool {
        switch abandonment {
        case .ackDeadline: source(of: arrival).features.contains(.redelivers)
        case .stop:
            scenario.isCancelled && stopped.map { $0 < at } ?? false
                || arrival.middleware.contains { $0.act == .throwsAway || $0.act == .abandons }
        case .drain: isDrained(arrival, at)
        default: false
        }
    }

    /// Returns whether the arrival was abandoned after the drain limit of the supervisor or of its source.
    private func isDrained(_ arrival: ArrivalHistory, _ at: Int) -> Bool {
        // A source that ends by itself may be the last, and then the supervisor drains.
        if scenario.sources.contains(where: { $0.kind == .endingAdapter }) { return true }
        let removed = removals.filter { $0.intake == arrival.intake }.map(\.from)
        return (removed + [stopped].compactMap { $0 }).contains { from in
            from < at
                && (!wasRouted(arrival) || ticks[at] - max(ticks[from], ticks[began ?? 0]) >= scenario.drainLimit - 1)
        }
    }

    private func wasWithoutPlugin(_ action: Int, _ time: ClosedRange<Int>) -> Bool {
        let known = registrations.filter { $0.plugin.action == action && $0.from != nil }
        let isCovered = known.contains { one in
            guard let from = one.from, from < time.lowerBound else { return false }
            return one.until.map { $0 > time.upperBound } ?? true
        }
        return !isCovered
    }

    private func wasForbidden(_ arrival: ArrivalHistory, _ at: Int) -> Bool {
        let message = message(of: arrival)
        return registrations.contains { one in
            guard one.plugin.action == message.action, let from = one.from, from < at else { return false }
            return !one.plugin.sources.contains(arrival.mark.source)
        }
    }

    /// Returns whether a call of the action's plugin was still running after its arrival was settled.
    private func hadStalledCall(_ action: Int, _ at: Int) -> Bool {
        arrivals.contains { arrival in
            message(of: arrival).action == action && arrival.isSettled(before: at)
                && attempts(of: arrival).contains { $0.isRunning(at: at) }
        }
    }

    /// Returns whether the arrival was left out of a batch call that is running. It is settled together with that call.
    func isInBatchCall(_ arrival: ArrivalHistory, _ at: Int) -> Bool {
        guard isLeftOutOfBatches(arrival) else { return false }
        return calls.contains { call in
            plugin(of: call).kind == .batch && plugin(of: call).action == message(of: arrival).action
                && call.isRunning(at: at)
        }
    }

    /// Returns whether a call of a batch plugin has left out the arrival, or may have.
    func isLeftOut(_ arrival: ArrivalHistory) -> Bool {
        isLeftOutOfBatches(arrival)
            && registrations.contains { $0.plugin.kind == .batch && $0.plugin.action == message(of: arrival).action }
    }

    /// Returns whether batch calls leave out the arrival. Such a call begins without it, and settles it at its end.
    func isLeftOutOfBatches(_ arrival: ArrivalHistory) -> Bool {
        let message = message(of: arrival)
        return message.content == .invalidBody || message.deadline == .past
    }

    /// Returns whether a call for the arrival has started, or middleware before one.
    func hasBegun(_ arrival: ArrivalHistory, before position: Int) -> Bool {
        arrival.calls.contains { calls[$0].began < position } || arrival.middleware.contains { $0.began < position }
    }
}

extension Scenario {
    var isCancelled: Bool { if case .cancel = ending { true } else { false } }
}
