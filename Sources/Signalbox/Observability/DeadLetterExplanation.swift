import SignalboxCore

extension DeadLetter {
    /// The stages that the dead letter passed, and the stage that stopped it.
    ///
    /// The explanation is built on each access from what was recorded at settlement. Nothing is decoded again, but the
    /// access rule is checked again with the same facts.
    public var explanation: Explanation {
        let (passed, stopped) = path
        return Explanation(
            source: source,
            envelope: envelope,
            action: action,
            id: id,
            steps: passed + [stopped],
            verdict: ExplanationVerdict(outcome)
        )
    }

    private var detail: String { ExplanationVerdict(outcome).detail }

    private var path: (passed: [ExplanationStep], stopped: ExplanationStep) {
        guard action != nil else { return ([], stop(.envelope)) }
        var passed = [ExplanationStep(.envelope, "\(envelope)")]
        guard let plugin else { return (passed, stop(.plugin)) }
        passed.append(ExplanationStep(.plugin, "served by \(plugin.holder)"))
        let access = ExplanationStep(plugin.rule, Origin(source: source, facts: facts))
        guard access.passes else { return (passed, access) }
        passed.append(access)
        let stage = isOutcomeOfAttempt ? stageInAttempt : stageOfSupervisor(plugin)
        guard attempts > 0 else { return (passed, stop(stage)) }
        let made = "\(attempts) of at most \(plugin.maximumAttempts)"
        guard stage != .attempts else { return (passed, stop(.attempts, "\(made); the last \(ended): \(detail)")) }
        passed.append(ExplanationStep(.attempts, made))
        return (passed, stop(stage))
    }

    private var ended: String { if case .rejected = outcome { "was rejected" } else { "failed" } }

    private func stop(_ stage: ExplanationStage, _ text: String? = nil) -> ExplanationStep {
        ExplanationStep(stage, passes: false, text ?? detail)
    }

    /// The stage at which an attempt determined the outcome. Body errors come only from decoding, and only a plugin
    /// declines a body, so any other rejection comes from middleware.
    private var stageInAttempt: ExplanationStage {
        guard case .rejected(let rejection) = outcome else { return .attempts }
        guard rejection.reason == .invalidBody else { return .middleware }
        return rejection.bodyError == nil ? .attempts : .body
    }

    /// Returns the stage at which the supervisor decided. The reason identifies the stage, except for `unavailable`.
    /// That reason can come from an open circuit breaker or from a lane, so the whole rejection is compared.
    private func stageOfSupervisor(_ plugin: PluginOutline) -> ExplanationStage {
        switch outcome {
        case .handled, .abandoned: .lane
        case .failed(let failure): failure.reason == .timeout ? .timeout : .attempts
        case .rejected(let rejection):
            switch rejection.reason {
            case .sourceNotAllowed: .access
            case .idConflict: .deduplication
            case .expired: .deadline
            case .overloaded: .rateLimit
            case .unavailable where rejection == plugin.refusal: .circuitBreaker
            case .invalidBody: .body
            default: .lane
            }
        }
    }
}

extension SettledArrival {
    /// The ``DeadLetter/explanation`` of the arrival's dead letter, or `nil` if there is no dead letter because the
    /// arrival was handled or abandoned, or was a duplicate.
    ///
    /// The explanation is built on each access, and the access rule is checked again with the same facts.
    public var explanation: Explanation? {
        guard !isDuplicate else { return nil }
        switch outcome {
        case .handled, .abandoned: return nil
        case .rejected, .failed:
            let attempts = AttemptCount(started: attempts, isOutcomeOfLast: isOutcomeOfAttempt)
            return DeadLetter(arrival, outcome: outcome, plugin: outline, attempts).explanation
        }
    }
}

/// Describes a plugin for explanations, even after the plugin has been removed. The outline does not include the
/// plugin's code, so a dead letter keeps alive only what the access rule holds.
final class PluginOutline: Sendable {
    let action: ActionName
    let holder: String
    let rule: AccessRule
    let maximumAttempts: Int
    /// The rejection that arrivals receive while the plugin's circuit breaker is open.
    let refusal: Outcome.Rejection?

    init(
        _ action: ActionName,
        _ holder: String,
        _ rule: AccessRule,
        _ options: LaneOptions,
        _ breaker: CircuitBreaker?
    ) {
        self.action = action
        self.holder = holder
        self.rule = rule
        refusal = breaker?.rejection
        maximumAttempts = options.retry?.attempts ?? 1
    }
}
