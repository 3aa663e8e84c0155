import SignalboxCore

extension Invariant {
    static let onlyAllowedArrivalsAreCalled = Invariant(
        "onlyAllowedArrivalsAreCalled",
        "A plugin sees only what is meant for it, allowed, readable, in time and of the right shape."
    ) { ledger in
        ledger.calls.flatMap { call in
            call.marks.compactMap { mark -> Ledger.Fault? in
                guard let passage = ledger.passage(mark) else { return nil }
                let message = ledger.message(of: passage)
                let plugin = ledger.plugin(of: call)
                let fault: String? =
                    if message.content != .readable {
                        "whose content is \(message.content)"
                    } else if message.action != plugin.action {
                        "which is for p\(message.action)"
                    } else if !plugin.sources.contains(mark.source) {
                        "whose source it does not allow"
                    } else if message.deadline == .past {
                        "whose deadline had passed"
                    } else if !ledger.isInForce(call.registration, passage, call.began) { "after it was removed" } else
                    { nil }
                guard let fault else { return nil }
                return Ledger.Fault(at: call.began, text: "plugin p\(plugin.action) was called with \(mark), \(fault)")
            }
        }
    }

    static let notCalledAfterItsEnd = Invariant(
        "notCalledAfterItsEnd",
        "No attempt begins any more once the outcome is known."
    ) { ledger in
        ledger.passages.flatMap { passage in
            (passage.calls.map { ledger.calls[$0].began } + passage.middleware.map(\.began)).compactMap { began in
                guard passage.isSettled(before: began), !ledger.isInAttempt(passage, began) else { return nil }
                return Ledger.Fault(at: began, text: "\(passage.mark) was settled, and called after it")
            }
        }
    }

    static let attemptsAreKept = Invariant(
        "attemptsAreKept",
        """
        A call is made again only after it failed in a way that may pass, one after the other, as often \
        as the policy says.
        """
    ) { ledger in
        ledger.passages.flatMap { passage -> [Ledger.Fault] in
            var faults: [Ledger.Fault] = []
            var before: CallRecord?
            for call in passage.calls.map({ ledger.calls[$0] }) {
                let attempts = ledger.plugin(of: call).retry?.attempts ?? 1
                let what = "\(passage.mark) was called with attempt \(call.attempt)"
                if call.attempt > attempts {
                    faults.append(Ledger.Fault(at: call.began, text: "\(what) of \(attempts)"))
                }
                if let before, !ledger.mayFollow(before, call, passage) {
                    let text = "\(what) behind attempt \(before.attempt), which had not failed retryably"
                    faults.append(Ledger.Fault(at: call.began, text: text))
                }
                before = call
            }
            return faults
        }
    }

    static let attemptsAreTold = Invariant(
        "attemptsAreTold",
        "Observers are told how many attempts were made; one that ended at the body may count."
    ) { ledger in
        ledger.passages.compactMap { passage in
            guard let observed = passage.observed.first else { return nil }
            let made = passage.isRepeat ? 0 : ledger.attempts(of: passage).filter { $0.began < observed.at }.count
            let isAtBody = passage.rejection == .invalidBody || ledger.isInBatchCall(passage, observed.at)
            let atBody = isAtBody && !passage.isRepeat ? 1 : made
            guard passage.attemptsTold != made, passage.attemptsTold != atBody else { return nil }
            let text = "\(passage.mark) had \(made) attempts, and \(passage.attemptsTold) were told"
            return Ledger.Fault(at: observed.at, text: text)
        }
    }
}

extension Ledger {
    /// Returns whether middleware is running for the arrival. It may run on after the arrival is settled.
    fileprivate func isInAttempt(_ passage: Passage, _ position: Int) -> Bool {
        passage.middleware.contains { passing in
            passing.began < position && passing.ended.map { $0 > position } ?? true
        }
    }

    /// Returns whether the registration was in force at some time between the routing of an arrival and its call.
    fileprivate func isInForce(_ registration: Int, _ passage: Passage, _ call: Int) -> Bool {
        guard let from = registrations[registration].from, from < call else { return false }
        guard let until = registrations[registration].until else { return true }
        return until > asked(passage)
    }

    fileprivate func mayFollow(_ before: CallRecord, _ call: CallRecord, _ passage: Passage) -> Bool {
        guard call.attempt > before.attempt, let ended = before.ended, ended < call.began else { return false }
        if before.result == .failed(retryable: true) { return true }
        return passage.middleware.contains { $0.attempt >= before.attempt && $0.act == .fails(retryable: true) }
    }
}

extension Invariant {
    static let outcomeHasItsCause = Invariant(
        "outcomeHasItsCause",
        """
        Each outcome says what really happened: a reply is that of the call, a rejection has its \
        reason, a failure its call.
        """
    ) { ledger in
        ledger.passages.compactMap { passage in
            guard let settled = passage.settled.first, !ledger.hasCause(passage, settled) else { return nil }
            let text = "\(passage.mark) (m\(passage.message)) is \(settled.outcome.code), and nothing has made it so"
            return Ledger.Fault(at: settled.at, text: text)
        }
    }
}

extension Ledger {
    fileprivate func hasCause(_ passage: Passage, _ settled: Passage.Told) -> Bool {
        if passage.isRepeat { return true }
        return switch settled.outcome {
        case .handled(let reply): isReply(reply, passage, settled.at)
        case .rejected(let rejection): hasReason(rejection, passage, settled.at)
        case .failed(let failure): hasFailed(failure, passage, settled.at)
        case .abandoned(let abandonment): isLetGo(abandonment, passage, settled.at)
        }
    }

    private func isReply(_ reply: Bytes?, _ passage: Passage, _ at: Int) -> Bool {
        if reply?.text == "-1" { return passage.middleware.contains { $0.act == .answers } }
        return passage.calls.contains { place in
            let call = calls[place]
            let isOwn = plugin(of: call).kind == .batch ? reply == nil : reply?.text == "\(call.number)"
            return isOwn && call.result == .returned && call.ended.map { $0 < at } ?? false
        }
    }

    private func hasReason(_ rejection: Outcome.Rejection, _ passage: Passage, _ at: Int) -> Bool {
        let message = message(of: passage)
        return switch rejection.reason {
        case .malformed: message.content == .unreadable
        case .invalidBody: message.content == .invalidBody
        case .expired: message.deadline == .past
        case .unknownAction: wasWithoutPlugin(message.action, asked(passage)...max(at, asked(passage)))
        case .sourceNotAllowed: wasForbidden(passage, at)
        case .unavailable where rejection.detail == SimulatedMiddleware.detail:
            passage.middleware.contains { $0.act == .rejects }
        case .unavailable where passage.refusal == .breaker:
            registrations.contains { $0.plugin.action == message.action && $0.plugin.breaker != nil }
        case .unavailable: hadStalledCall(message.action, at)
        case .overloaded: true
        case .idConflict: hasConflict(passage)
        case .reentrant: waitsForItself(passage) || mayWaitForItsPredecessor(passage)
        default: false
        }
    }

    private func hasFailed(_ failure: Outcome.Failure, _ passage: Passage, _ at: Int) -> Bool {
        if failure.reason == .timeout { return hasBegun(passage, before: at) || isInBatchCall(passage, at) }
        if passage.middleware.contains(where: { if case .fails = $0.act { $0.began < at } else { false } }) {
            return true
        }
        guard let call = passage.calls.last.map({ calls[$0] }), let ended = call.ended, ended < at else { return false }
        if case .failed? = call.result { return true }
        return false
    }

    private func isLetGo(_ abandonment: Outcome.Abandonment, _ passage: Passage, _ at: Int) -> Bool {
        switch abandonment {
        case .holdLimit: source(of: passage).features.contains(.redelivers)
        case .stop:
            scenario.isCancelled && stopped.map { $0 < at } ?? false
                || passage.middleware.contains { $0.act == .throwsAway || $0.act == .abandons }
        case .drain: isDrained(passage, at)
        default: false
        }
    }

    /// Returns whether the arrival was abandoned after the drain limit of the supervisor or of its source.
    private func isDrained(_ passage: Passage, _ at: Int) -> Bool {
        // A source that ends by itself may be the last, and then the supervisor drains.
        if scenario.sources.contains(where: { $0.kind == .endingAdapter }) { return true }
        let removed = removals.filter { $0.intake == passage.intake }.map(\.from)
        return (removed + [stopped].compactMap { $0 }).contains { from in
            from < at
                && (!wasRouted(passage) || ticks[at] - max(ticks[from], ticks[began ?? 0]) >= scenario.drainLimit - 1)
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

    private func wasForbidden(_ passage: Passage, _ at: Int) -> Bool {
        let message = message(of: passage)
        return registrations.contains { one in
            guard one.plugin.action == message.action, let from = one.from, from < at else { return false }
            return !one.plugin.sources.contains(passage.mark.source)
        }
    }

    /// Returns whether a call of the action's plugin was still running after its arrival was settled.
    private func hadStalledCall(_ action: Int, _ at: Int) -> Bool {
        passages.contains { passage in
            message(of: passage).action == action && passage.isSettled(before: at)
                && attempts(of: passage).contains { $0.isRunning(at: at) }
        }
    }

    /// Returns whether the arrival was left out of a batch call that is running. It is settled together with that call.
    func isInBatchCall(_ passage: Passage, _ at: Int) -> Bool {
        guard isLeftOutOfBatches(passage) else { return false }
        return calls.contains { call in
            plugin(of: call).kind == .batch && plugin(of: call).action == message(of: passage).action
                && call.isRunning(at: at)
        }
    }

    /// Returns whether a call of a batch plugin has left out the arrival, or may have.
    func isLeftOut(_ passage: Passage) -> Bool {
        isLeftOutOfBatches(passage)
            && registrations.contains { $0.plugin.kind == .batch && $0.plugin.action == message(of: passage).action }
    }

    /// Returns whether batch calls leave out the arrival. Such a call begins without it, and settles it at its end.
    func isLeftOutOfBatches(_ passage: Passage) -> Bool {
        let message = message(of: passage)
        return message.content == .invalidBody || message.deadline == .past
    }

    /// Returns whether a call for the arrival has started, or middleware before one.
    func hasBegun(_ passage: Passage, before position: Int) -> Bool {
        passage.calls.contains { calls[$0].began < position } || passage.middleware.contains { $0.began < position }
    }
}

extension Scenario {
    var isCancelled: Bool { if case .cancel = ending { true } else { false } }
}
