import SignalboxCore

extension Invariant {
    /// A plugin sees only what is meant for it, allowed, readable, in time and of the right shape.
    static let onlyAllowedArrivalsAreCalled = Invariant(name: "onlyAllowedArrivalsAreCalled") { ledger in
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

    /// No attempt begins any more once the outcome is known.
    static let notCalledAfterItsEnd = Invariant(name: "notCalledAfterItsEnd") { ledger in
        ledger.passages.flatMap { passage in
            ledger.attempts(of: passage).compactMap { attempt in
                guard passage.isSettled(before: attempt.began) else { return nil }
                return Ledger.Fault(at: attempt.began, text: "\(passage.mark) was settled, and called after it")
            }
        }
    }

    /// A call is made again only after it failed in a way that may pass, one after the other, as often as the policy says.
    static let attemptsAreKept = Invariant(name: "attemptsAreKept") { ledger in
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
}

extension Ledger {
    /// Whether the registration was in force at some moment between the submission of an arrival and its call.
    fileprivate func isInForce(_ registration: Int, _ passage: Passage, _ call: Int) -> Bool {
        guard let from = registrations[registration].from, from < call else { return false }
        guard let until = registrations[registration].until else { return true }
        return until > passage.offered
    }

    fileprivate func mayFollow(_ before: CallRecord, _ call: CallRecord, _ passage: Passage) -> Bool {
        guard call.attempt > before.attempt, let ended = before.ended, ended < call.began else { return false }
        if before.result == .failed(retryable: true) { return true }
        return passage.middleware.contains { $0.attempt >= before.attempt && $0.act == .fails(retryable: true) }
    }
}
