import SignalboxCore

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

    /// Whether it was let go of as the supervisor, or its source, had had its time to end.
    private func isDrained(_ passage: Passage, _ at: Int) -> Bool {
        // One that ends by itself may be the last, and then the supervisor drains.
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

    /// Whether a call of the action's plugin was running that had been settled without it.
    private func hadStalledCall(_ action: Int, _ at: Int) -> Bool {
        passages.contains { passage in
            message(of: passage).action == action && passage.isSettled(before: at)
                && attempts(of: passage).contains { $0.isRunning(at: at) }
        }
    }

    /// A call of a batch plugin is settled as a whole, together with what it left out, as its body did not fit.
    func isInBatchCall(_ passage: Passage, _ at: Int) -> Bool {
        guard isLeftOutOfBatches(passage) else { return false }
        return calls.contains { call in
            plugin(of: call).kind == .batch && plugin(of: call).action == message(of: passage).action
                && call.isRunning(at: at)
        }
    }

    /// Whether a batch plugin's call has left it out, or may have.
    func isLeftOut(_ passage: Passage) -> Bool {
        isLeftOutOfBatches(passage)
            && registrations.contains { $0.plugin.kind == .batch && $0.plugin.action == message(of: passage).action }
    }

    /// A batch plugin's call begins without it, and it is told of at the call's end.
    func isLeftOutOfBatches(_ passage: Passage) -> Bool {
        let message = message(of: passage)
        return message.content == .invalidBody || message.deadline == .past
    }

    /// Whether a call has begun for it, or middleware that stands before one.
    func hasBegun(_ passage: Passage, before position: Int) -> Bool {
        passage.calls.contains { calls[$0].began < position } || passage.middleware.contains { $0.began < position }
    }
}

extension Scenario {
    var isCancelled: Bool { if case .cancel = ending { true } else { false } }
}
