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
    /// Whether middleware is on its way with it: an attempt that was settled without it goes on.
    fileprivate func isInAttempt(_ passage: Passage, _ position: Int) -> Bool {
        passage.middleware.contains { passing in
            passing.began < position && passing.ended.map { $0 > position } ?? true
        }
    }

    /// Whether the registration was in force at some moment between the submission of an arrival and its call.
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
