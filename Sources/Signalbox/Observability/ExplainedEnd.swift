import SignalboxCore

extension DeadLetter {
    /// What happened to it on its way: each stage that it passed and that was noted, and the one that stopped it.
    ///
    /// Made anew at each use from what was noted when it was settled; nothing is decoded again. The access rule is asked
    /// again, about the same facts.
    public var explanation: Explanation {
        ExplainedEnd(
            origin: Origin(source: source, facts: facts),
            action: action,
            id: id,
            outcome: outcome,
            attempts: attempts,
            trace: trace
        ).explanation
    }
}

extension SettledArrival {
    /// What ``DeadLetter/explanation`` says of the dead letter that the arrival became; `nil` when it became none: it was
    /// handled or abandoned, or repeats another.
    ///
    /// Made anew at each use; the access rule is asked again, about the same facts.
    public var explanation: Explanation? {
        guard !isRepeat else { return nil }
        switch outcome {
        case .handled, .abandoned: return nil
        case .rejected, .failed: return end.explanation
        }
    }

    private var end: ExplainedEnd {
        let action = try? arrival.reading.get()
        return ExplainedEnd(
            origin: arrival.origin,
            action: action.map { $0.name.copied() },
            id: action.map { $0.id.copied() },
            outcome: outcome,
            attempts: attempts,
            trace: DeadLetterTrace(
                envelope: arrival.envelope,
                plugin: outline,
                isOutcomeOfAttempt: isOutcomeOfAttempt
            )
        )
    }
}

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

/// What is noted of a dead letter for its explanation: a few words and references, so that a flood of rejects costs no
/// more for it.
struct DeadLetterTrace: Sendable {
    let envelope: EnvelopeKind
    /// The plugin it was meant for, or `nil` when none was found.
    let plugin: PluginOutline?
    /// Whether the last attempt ended in the outcome; else the supervisor decided.
    let isOutcomeOfAttempt: Bool
}

/// What explanations say of a plugin after it may have been removed: without its code, so that a dead letter keeps
/// nothing of the application alive but what its access rule holds.
final class PluginOutline: Sendable {
    let holder: String
    let rule: AccessRule
    let mostAttempts: Int
    /// What its circuit breaker says while it is open.
    let refusal: Outcome.Rejection?

    init(_ holder: String, _ rule: AccessRule, _ options: LaneOptions, _ breaker: CircuitBreaker?) {
        self.holder = holder
        self.rule = rule
        refusal = breaker?.rejection
        mostAttempts = options.retry?.attempts ?? 1
    }
}
