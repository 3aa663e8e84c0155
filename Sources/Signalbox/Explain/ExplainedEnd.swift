import SignalboxCore

/// An arrival that was not handled, as far as an explanation looks at it.
struct ExplainedEnd {
    let origin: Origin
    /// Name and id, or `nil` when the message could not be read.
    let action: ActionName?
    let id: ActionID?
    let outcome: Outcome
    let attempts: Int
    let trace: DeadLetterTrace

    var explanation: Explanation {
        let (passed, stopped) = path
        return Explanation(
            source: origin.source,
            envelope: trace.envelope,
            action: action,
            id: id,
            steps: passed + [stopped],
            verdict: ExplanationVerdict(outcome)
        )
    }

    private var detail: String { ExplanationVerdict(outcome).detail }

    private var path: (passed: [ExplanationStep], stopped: ExplanationStep) {
        guard action != nil else { return ([], stop(.envelope)) }
        var passed = [ExplanationStep(.envelope, "\(trace.envelope)")]
        guard let plugin = trace.plugin else { return (passed, stop(.plugin)) }
        passed.append(ExplanationStep(.plugin, "served by \(plugin.holder)"))
        let answer = plugin.rule.answer(to: origin)
        guard answer.isAllowed else { return (passed, stop(.access, "\(answer)")) }
        passed.append(ExplanationStep(.access, "\(answer)"))
        let stage = trace.isOutcomeOfAttempt ? stageInAttempt : stageOfSupervisor(plugin)
        guard attempts > 0 else { return (passed, stop(stage)) }
        let made = "\(attempts) of at most \(plugin.mostAttempts)"
        guard stage != .attempts else { return (passed, stop(.attempts, "\(made); the last \(ended): \(detail)")) }
        passed.append(ExplanationStep(.attempts, made))
        return (passed, stop(stage))
    }

    private var ended: String { if case .rejected = outcome { "was rejected" } else { "failed" } }

    private func stop(_ stage: ExplanationStage, _ text: String? = nil) -> ExplanationStep {
        ExplanationStep(stage, passes: false, text ?? detail)
    }

    /// Where an attempt ended in the outcome. Only decoding finds what is wrong with a body, and the plugin may have declined
    /// it besides; whatever else is a rejection, middleware has made.
    private var stageInAttempt: ExplanationStage {
        guard case .rejected(let rejection) = outcome else { return .attempts }
        guard rejection.reason == .invalidBody else { return .middleware }
        return rejection.bodyError == nil ? .attempts : .body
    }

    /// Where the supervisor itself decided: each of its stages has reasons of its own.
    private func stageOfSupervisor(_ plugin: PluginOutline) -> ExplanationStage {
        switch outcome {
        case .handled, .abandoned: .lane
        case .failed(let failure): failure.reason == .timeout ? .timeout : .attempts
        case .rejected(let rejection):
            switch rejection.reason {
            case .sourceNotAllowed: .access
            case .idConflict: .repeats
            case .expired: .deadline
            case .overloaded: .rateLimit
            case .unavailable where rejection == plugin.refusal: .circuitBreaker
            case .invalidBody: .body
            default: .lane
            }
        }
    }
}
