import SignalboxCore

extension Invariant {
    /// Each outcome says what really happened: a reply is that of the call, a rejection has its reason, a failure its call.
    static let outcomeHasItsCause = Invariant(name: "outcomeHasItsCause") { ledger in
        ledger.passages.compactMap { passage in
            guard let settled = passage.settled.first, !ledger.hasCause(passage, settled) else { return nil }
            let text = "\(passage.mark) (m\(passage.message)) is \(settled.outcome.code), and nothing has made it so"
            return Ledger.Fault(at: settled.at, text: text)
        }
    }
}

extension Ledger {
    fileprivate func hasCause(_ passage: Passage, _ settled: Passage.Told) -> Bool {
        if passage.isRepeat { return hasOriginal(passage, settled) }
        return switch settled.outcome {
        case .handled(let reply): isReply(reply, passage, settled.at)
        case .rejected(let rejection): hasReason(rejection.reason, passage, settled.at)
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

    private func hasReason(_ reason: Outcome.Rejection.Reason, _ passage: Passage, _ at: Int) -> Bool {
        let message = message(of: passage)
        return switch reason {
        case .malformed: message.content == .unreadable
        case .invalidBody: message.content == .invalidBody
        case .expired: message.deadline == .past
        case .unknownAction: wasWithoutPlugin(message.action, passage.offered...at)
        case .sourceNotAllowed: wasForbidden(passage, at)
        case .unavailable: hadStalledCall(message.action, at) || hadFailures(message.action, at)
        case .overloaded: isRefusedByRate(source(of: passage))
        case .idConflict: hasConflict(passage)
        case .reentrant: waitsForItself(passage)
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
        case .stop: scenario.isCancelled || passage.middleware.contains { $0.act == .throwsAway }
        default: true
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
    private func isInBatchCall(_ passage: Passage, _ at: Int) -> Bool {
        guard isLeftOutOfBatches(passage) else { return false }
        return calls.contains { call in
            plugin(of: call).kind == .batch && plugin(of: call).action == message(of: passage).action
                && call.isRunning(at: at)
        }
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
