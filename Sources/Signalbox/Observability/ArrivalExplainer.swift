public import SignalboxCore
import Synchronization

extension Supervisor {
    /// Explains what would happen to an arrival if it were submitted now. No plugin is called and no state changes.
    ///
    /// Use this method to find out why a message does not reach its plugin. All stages are checked, including those
    /// after the stage that stops the arrival. The check ends early only if the message cannot be read or has no
    /// plugin. The body is decoded as the plugin's `Info`, even if an earlier stage stops the arrival. Middleware is
    /// not called, so its effect is unknown.
    ///
    /// The state of a stage, such as an open circuit breaker or a stalled lane, may have changed by the time an arrival
    /// is actually submitted. While the supervisor drains, after it has stopped, and while the source is being removed,
    /// the verdict is `closed`. The steps are the same as for a source that is open.
    ///
    /// - Parameter arrival: An arrival as an adapter creates it, whose origin is trusted. If the source has been added,
    ///   the source's options apply.
    public func explain(_ arrival: Arrival) -> Explanation {
        let source = arrival.origin.source
        let (intake, isClosed) = state.withLock { ($0.intakes[source], $0.phase == .draining || $0.phase == .stopped) }
        let isTaken = !isClosed && intake?.isClosed != true
        return ArrivalExplainer(arrival: arrival, intake: intake, isTaken: isTaken, supervisor: self).explanation
    }
}

/// Checks all stages for an arrival, in the order in which an arrival passes them.
struct ArrivalExplainer {
    let arrival: Arrival
    /// The source's intake, if the source has been added.
    let intake: SourceIntake?
    /// Whether the source still accepts arrivals.
    let isTaken: Bool
    let supervisor: Supervisor

    /// A step and, if it stops the arrival, the resulting verdict.
    typealias StageResult = (step: ExplanationStep, verdict: ExplanationVerdict?)

    var explanation: Explanation {
        let reading = arrival.reading
        switch reading {
        case .failure(let rejection):
            return makeExplanation(from: [stop(.envelope, .rejected(rejection))], nil)
        case .success(let action):
            let read = pass(.envelope, "\(arrival.envelope)")
            let table = supervisor.registry.snapshot
            guard let entry = table.entry(named: action.name) else {
                let unknown = ExplanationVerdict(.rejected(ArrivalRouter.unknown))
                let verdict = intake?.verdict(onArrivalOf: arrival.originalLength, without: table) ?? unknown
                return makeExplanation(from: [read, stop(.plugin, verdict)], action)
            }
            let found = pass(.plugin, "served by \(entry.outline.holder)")
            return makeExplanation(from: [read, found] + results(for: action, entry), action)
        }
    }

    private var settler: Settler? { intake?.settler }

    private func makeExplanation(from path: [StageResult], _ action: Action?) -> Explanation {
        let results = (isTaken ? [] : [closed]) + path
        return Explanation(
            source: arrival.origin.source,
            envelope: arrival.envelope,
            action: action.map { $0.name.copied() },
            id: action.map { $0.id.copied() },
            steps: results.map(\.step),
            verdict: results.lazy.compactMap(\.verdict).first ?? .called
        )
    }

    private var closed: StageResult {
        let detail = "no more arrivals are accepted: the supervisor is closing or the source is being removed"
        return stop(.intake, ExplanationVerdict(code: "closed", detail: detail))
    }

    /// Checks the stages that belong to the plugin. With ordering by key, the body comes before the lane, unless the
    /// lane is stalled.
    private func results(for action: Action, _ entry: PluginEntry) -> [StageResult] {
        let (lane, body) = (lane(entry), body(action, entry))
        let decodesFirst = entry.options.order == .key && lane.verdict == nil
        return [access(action, entry), deduplication, deadline(action), rateLimit, circuitBreaker(entry)]
            + (decodesFirst ? [body, lane] : [lane])
            + [attempts(entry), pass(.timeout, "\(entry.timeout)"), middleware(entry)]
            + (decodesFirst ? [] : [body])
    }

    private func access(_ action: Action, _ entry: PluginEntry) -> StageResult {
        let step = ExplanationStep(entry.outline.rule, action.origin)
        guard !step.passes else { return (step, nil) }
        return (step, ExplanationVerdict(.rejected(ArrivalRouter.notAllowed(entry, action.origin))))
    }

    private func lane(_ entry: PluginEntry) -> StageResult {
        let order =
            switch entry.options.order {
            case .source: "in order per source"
            case .key: "in order per key"
            case .none: "unordered"
            }
        let lane = supervisor.lanes.known(for: entry)
        let bounds = "at most \(entry.options.maxConcurrent) at once, \(order)\(place(entry, lane))"
        guard let lane, lane.isStalled(for: settler) else {
            return pass(.lane, bounds)
        }
        return stop(.lane, lane.unavailable, configured: bounds)
    }

    /// Where the calls run, if the options ask for another place than the lane.
    private func place(_ entry: PluginEntry, _ lane: Lane?) -> String {
        guard entry.options.runsInline else { return "" }
        return lane?.mayRunInline ?? true
            ? ", on the thread of the source if it can" : ", on the lane, because a call took longer than a tick"
    }

    private func attempts(_ entry: PluginEntry) -> StageResult {
        guard let retry = entry.options.retry else { return pass(.attempts, "at most 1") }
        let waits =
            "a delay of at most \(retry.firstDelay) before the second, doubling up to \(retry.longestDelay)"
        return pass(.attempts, "at most \(retry.attempts), with \(waits)")
    }

    private func middleware(_ entry: PluginEntry) -> StageResult {
        guard !entry.call.takesWholeSlices else {
            return pass(.middleware, "none, because one call handles many actions")
        }
        let names = (supervisor.core.middleware.all + entry.middleware.all).map { "\(type(of: $0))" }
        return pass(.middleware, names.isEmpty ? "none" : names.joined(separator: ", "))
    }

    private func body(_ action: Action, _ entry: PluginEntry) -> StageResult {
        guard let error = entry.options.check(action.body) else { return pass(.body, "decodes") }
        return stop(.body, .rejected(invalidBody: error))
    }

    func pass(_ stage: ExplanationStage, _ detail: String) -> StageResult { (ExplanationStep(stage, detail), nil) }

    /// - Parameter detail: The detail of the step. By default, the verdict's detail is used.
    func stop(_ stage: ExplanationStage, _ verdict: ExplanationVerdict, _ detail: String? = nil) -> StageResult {
        (ExplanationStep(stage, passes: false, detail ?? verdict.detail), verdict)
    }

    /// - Parameter configured: The stage's configuration, which precedes the current state in the detail.
    func stop(_ stage: ExplanationStage, _ outcome: Outcome, configured: String? = nil) -> StageResult {
        let verdict = ExplanationVerdict(outcome)
        return stop(stage, verdict, configured.map { "\($0); \(verdict.detail)" })
    }
}

extension ArrivalExplainer {
    /// The deduplication step. Unlike a submission, this step also looks up arrivals that the access rule rejects.
    var deduplication: StageResult {
        guard let settler else { return unknownSource(.deduplication) }
        guard let deduplication = settler.admission.deduplication else {
            return pass(.deduplication, "off for this source")
        }
        guard arrival.hasSenderID else {
            return pass(.deduplication, "by id; the message has none")
        }
        switch deduplication.peek(arrival, at: supervisor.core.now) {
        case .first:
            return pass(.deduplication, "by id; not seen before")
        case .coalesced:
            return duplicate("the same message is running; this one would get its outcome without a call")
        case .duplicate:
            return duplicate("the same message was handled; this one would get its outcome without a call")
        case .conflict:
            return stop(.deduplication, .rejected(AdmissionPass.conflict))
        }
    }

    private func duplicate(_ detail: String) -> StageResult {
        stop(.deduplication, ExplanationVerdict(code: "duplicate", detail: detail))
    }

    func deadline(_ action: Action) -> StageResult {
        guard let deadline = action.deadline else { return pass(.deadline, "none") }
        guard ContinuousClock.now >= deadline else { return pass(.deadline, "not passed") }
        return stop(.deadline, .rejected(Outcome.Rejection(.expired, detail: "the deadline has passed")))
    }

    var rateLimit: StageResult {
        guard let settler else { return unknownSource(.rateLimit) }
        let admission = settler.admission
        guard let rate = admission.slowingRate ?? admission.rejectingRate else { return pass(.rateLimit, "none") }
        let limit = "\(rate.limit.perSecond) per second, bursts of \(rate.limit.burst)"
        if rate.available(at: supervisor.core.now) > 0 { return pass(.rateLimit, limit) }
        if admission.slowingRate != nil { return pass(.rateLimit, "\(limit); the source must wait now") }
        return stop(.rateLimit, .rejected(rate.rejection), configured: limit)
    }

    func circuitBreaker(_ entry: PluginEntry) -> StageResult {
        guard let breaker = entry.breaker else { return pass(.circuitBreaker, "none") }
        let policy = "opens after \(breaker.policy.failures) failures in a row for \(breaker.policy.openFor)"
        let (text, admits) = breaker.status(at: supervisor.core.now)
        if admits { return pass(.circuitBreaker, "\(policy); \(text)") }
        return stop(.circuitBreaker, .rejected(breaker.rejection), configured: "\(policy); \(text)")
    }

    private func unknownSource(_ stage: ExplanationStage) -> StageResult {
        pass(stage, "unknown, because the source has not been added")
    }
}
