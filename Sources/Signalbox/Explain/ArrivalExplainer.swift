import SignalboxCore

/// Asks every stage about an arrival, in the order of the path.
struct ArrivalExplainer {
    let arrival: Arrival
    /// Of its source, when that has been added.
    let intake: SourceIntake?
    /// Whether anything of the source is still taken.
    let isTaken: Bool
    let core: SupervisorCore

    /// A step, and what becomes of the arrival when it is the first that does not pass.
    typealias Answer = (step: ExplanationStep, verdict: ExplanationVerdict?)

    var explanation: Explanation {
        let reading = arrival.reading
        switch reading {
        case .failure(let rejection):
            return made(of: [stop(.envelope, .rejected(rejection))], nil)
        case .success(let action):
            let read: Answer = (ExplanationStep(.envelope, "\(arrival.envelope)"), nil)
            guard let entry = core.registry.snapshot.entry(named: action.name) else {
                return made(of: [read, stop(.plugin, .rejected(ArrivalRouter.unknown))], action)
            }
            let found: Answer = (ExplanationStep(.plugin, "served by \(entry.holder)"), nil)
            return made(of: [read, found] + answers(about: action, entry), action)
        }
    }

    private func made(of path: [Answer], _ action: Action?) -> Explanation {
        let answers = (isTaken ? [] : [closed]) + path
        return Explanation(
            source: arrival.origin.source,
            envelope: arrival.envelope,
            action: action.map { $0.name.copied() },
            id: action.map { $0.id.copied() },
            steps: answers.map(\.step),
            verdict: answers.lazy.compactMap(\.verdict).first ?? .called
        )
    }

    private var closed: Answer {
        let detail = "nothing more is taken: the supervisor is closing, or the source is being removed"
        return (
            ExplanationStep(.intake, passes: false, detail), ExplanationVerdict(code: "closed", detail: detail)
        )
    }

    /// With an order by key the body is decoded first, as the lane has to know the key, but for one that takes nothing.
    private func answers(about action: Action, _ entry: PluginEntry) -> [Answer] {
        let (lane, body) = (lane(entry), body(action, entry))
        let decodesFirst = entry.options.order == .key && lane.verdict == nil
        return [access(action, entry), repeats, deadline(action), rateLimit, circuitBreaker(entry)]
            + (decodesFirst ? [body, lane] : [lane])
            + [attempts(entry), (ExplanationStep(.timeout, "\(entry.timeout)"), nil), middleware(entry)]
            + (decodesFirst ? [] : [body])
    }

    private func access(_ action: Action, _ entry: PluginEntry) -> Answer {
        let answer = entry.rule.answer(to: action.origin)
        let whole = answer.decidedBy == entry.rule.description ? "" : "; the rule is \(entry.rule)"
        let step = ExplanationStep(.access, passes: answer.isAllowed, "\(answer)\(whole)")
        guard !answer.isAllowed else { return (step, nil) }
        return (step, ExplanationVerdict(.rejected(ArrivalRouter.notAllowed(entry, action.origin))))
    }

    private func lane(_ entry: PluginEntry) -> Answer {
        let order =
            switch entry.options.order {
            case .source: "in order of their source"
            case .key: "in order of their key"
            case .none: "in no order"
            }
        let bounds = "at most \(entry.options.maxConcurrent) at once, \(order)"
        guard let lane = core.lanes.known(for: entry), lane.isStalled(for: intake) else {
            return (ExplanationStep(.lane, bounds), nil)
        }
        return stop(.lane, lane.unavailable, configured: bounds)
    }

    private func attempts(_ entry: PluginEntry) -> Answer {
        guard let retry = entry.options.retry else { return (ExplanationStep(.attempts, "at most 1"), nil) }
        let waits =
            "a wait of at most \(retry.firstDelay) before the second, then twice as long, at most \(retry.longestDelay)"
        return (ExplanationStep(.attempts, "at most \(retry.attempts), with \(waits)"), nil)
    }

    private func middleware(_ entry: PluginEntry) -> Answer {
        guard !entry.call.takesWholeRuns else {
            return (ExplanationStep(.middleware, "none, as one call is for many actions"), nil)
        }
        let names = (core.middleware.all + entry.middleware.all).map { "\(type(of: $0))" }
        return (ExplanationStep(.middleware, names.isEmpty ? "none" : names.joined(separator: ", ")), nil)
    }

    private func body(_ action: Action, _ entry: PluginEntry) -> Answer {
        guard let error = entry.options.check(action.body) else { return (ExplanationStep(.body, "decodes"), nil) }
        return stop(.body, .rejected(invalidBody: error))
    }

    /// - Parameter configured: what the stage is told to do, before what it does now.
    func stop(_ stage: ExplanationStage, _ outcome: Outcome, configured: String? = nil) -> Answer {
        let verdict = ExplanationVerdict(outcome)
        let detail = configured.map { "\($0); \(verdict.detail)" } ?? verdict.detail
        return (ExplanationStep(stage, passes: false, detail), verdict)
    }
}
