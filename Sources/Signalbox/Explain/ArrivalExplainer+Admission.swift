import SignalboxCore

extension ArrivalExplainer {
    /// Only what its access rule lets through is looked up when it comes; here it is asked in any case.
    var repeats: Answer {
        guard let intake else { return unknownSource(.repeats) }
        guard let repeats = intake.admission.repeats else { return (ExplanationStep(.repeats, "not recognised"), nil) }
        guard arrival.hasSendersID else {
            return (ExplanationStep(.repeats, "recognised by id; the sender gave none"), nil)
        }
        switch repeats.look(at: arrival, now: core.now) {
        case .first:
            return (ExplanationStep(.repeats, "recognised by id; not seen before"), nil)
        case .follows:
            return repeated("the same message is running; it would have the same outcome, without a call")
        case .again:
            return repeated("the same message was handled; it would have the same outcome, without a call")
        case .conflict:
            return stop(.repeats, .rejected(AdmissionPass.conflict))
        }
    }

    private func repeated(_ detail: String) -> Answer {
        let verdict = ExplanationVerdict(code: "repeated", detail: detail)
        return (ExplanationStep(.repeats, passes: false, detail), verdict)
    }

    func deadline(_ action: Action) -> Answer {
        guard let deadline = action.deadline else { return (ExplanationStep(.deadline, "none"), nil) }
        guard ContinuousClock.now >= deadline else { return (ExplanationStep(.deadline, "not passed"), nil) }
        return stop(.deadline, .rejected(Outcome.Rejection(.expired, detail: "its deadline has passed")))
    }

    var rateLimit: Answer {
        guard let intake else { return unknownSource(.rateLimit) }
        guard let rate = intake.admission.rate else { return (ExplanationStep(.rateLimit, "none"), nil) }
        let limit = "\(rate.limit.perSecond) a second, \(rate.limit.burst) at once"
        if rate.available(at: core.now) > 0 { return (ExplanationStep(.rateLimit, limit), nil) }
        if rate.slows { return (ExplanationStep(.rateLimit, "\(limit); the source has to wait now"), nil) }
        let overloaded = Outcome.Rejection(.overloaded, detail: rate.detail)
        return stop(.rateLimit, .rejected(overloaded), configured: limit)
    }

    func circuitBreaker(_ entry: PluginEntry) -> Answer {
        guard let breaker = entry.breaker else { return (ExplanationStep(.circuitBreaker, "none"), nil) }
        let policy = "opens after \(breaker.policy.failures) in a row for \(breaker.policy.openFor)"
        let (words, lets) = breaker.look(at: core.now)
        if lets { return (ExplanationStep(.circuitBreaker, "\(policy); \(words)"), nil) }
        return stop(.circuitBreaker, .rejected(breaker.rejection), configured: "\(policy); \(words)")
    }

    private func unknownSource(_ stage: ExplanationStage) -> Answer {
        (ExplanationStep(stage, "not known, as the source has not been added"), nil)
    }
}
