import SignalboxCore

extension DeadLetter {
    /// What happened to it on its way: each stage that it passed and that was noted, and the one that stopped it.
    ///
    /// Made anew at each use from what was noted when it was settled; nothing is decoded again. The access rule is asked
    /// again, about the same facts.
    public var explanation: Explanation {
        let (passed, stopped) = path
        return Explanation(
            source: source,
            envelope: trace.envelope,
            action: action,
            id: id,
            steps: passed + [stopped],
            verdict: ExplanationVerdict(outcome)
        )
    }

    private var path: (passed: [ExplanationStep], stopped: ExplanationStep) {
        let detail = ExplanationVerdict(outcome).detail
        func stop(_ stage: ExplanationStage, _ text: String? = nil) -> ExplanationStep {
            ExplanationStep(stage, passes: false, text ?? detail)
        }
        guard action != nil else { return ([], stop(.envelope)) }
        var passed = [ExplanationStep(.envelope, "\(trace.envelope)")]
        guard let plugin = trace.plugin else { return (passed, stop(.plugin)) }
        passed.append(ExplanationStep(.plugin, "served by \(plugin.holder)"))
        let answer = plugin.rule.answer(to: Origin(source: source, facts: facts))
        guard answer.isAllowed else { return (passed, stop(.access, "\(answer)")) }
        passed.append(ExplanationStep(.access, "\(answer)"))
        let stage = stageBehindAccess(of: plugin)
        if stage.isCall {
            let attempts = "\(attempts) of at most \(plugin.mostAttempts)"
            guard stage != .attempts else {
                return (passed, stop(.attempts, "\(attempts); the last failed: \(detail)"))
            }
            passed.append(ExplanationStep(.attempts, attempts))
        }
        return (passed, stop(stage))
    }

    /// The stage that the outcome tells of, when the access rule has allowed the call. What only an earlier stage says,
    /// middleware has said.
    private func stageBehindAccess(of plugin: PluginOutline) -> ExplanationStage {
        switch outcome {
        case .handled, .abandoned: .lane
        case .failed(let failure): failure.reason == .timeout ? .timeout : .attempts
        case .rejected(let rejection):
            switch rejection.reason {
            case .idConflict: .repeats
            case .expired: .deadline
            case .overloaded: .rateLimit
            case .unavailable where rejection == plugin.refusal: .circuitBreaker
            case .unavailable, .reentrant: .lane
            case .invalidBody: .body
            default: .middleware
            }
        }
    }
}

extension ExplanationStage {
    /// Whether it was reached only when a call began.
    fileprivate var isCall: Bool {
        [.attempts, .timeout, .middleware, .body].contains(self)
    }
}
