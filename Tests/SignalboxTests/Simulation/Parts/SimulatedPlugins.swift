import Signalbox
import SignalboxCore
import SignalboxTesting

/// An error of a simulated plugin.
struct SimulatedError: RetryableError {
    let isRetryable: Bool
}

/// A batch plugin; what it does is what the scenario says for the first of its arrivals.
struct SimulatedBatchPlugin: BatchPlugin {
    let world: SimulationWorld
    let hold: RegistrationHold
    let action: ActionName

    func callAsActions(_ batch: [(info: SimulatedInfo, context: ActionContext)]) async throws {
        _ = try await world.call(hold.number, batch.map(\.context), batch[0].info)
    }
}

extension SimulationWorld {
    /// What a plugin's code is.
    ///
    /// - Returns: the number of the call, which is the plugin's reply: so each outcome tells which call it came from.
    func call(_ registration: Int, _ contexts: [ActionContext], _ info: SimulatedInfo) async throws -> Int {
        let (call, act) = begin(registration, contexts, info)
        await perform(act, call)
        return try end(call, act)
    }

    /// The same for a plugin that does not wait.
    func callWithoutWaiting(_ registration: Int, _ context: ActionContext, _ info: SimulatedInfo) throws -> Int {
        let (call, act) = begin(registration, [context], info)
        return try end(call, act.withoutWaiting)
    }

    private func begin(
        _ registration: Int,
        _ contexts: [ActionContext],
        _ info: SimulatedInfo
    ) -> (call: Int, act: PluginAct) {
        beginCall(registration, contexts.map(mark(of:)), message: info.message, attempt: contexts[0].attempt)
    }

    private func end(_ call: Int, _ act: PluginAct) throws -> Int {
        guard case .fails(let retryable, _) = act else {
            add(.callEnded(call: call, .returned))
            return call
        }
        add(.callEnded(call: call, .failed(retryable: retryable)))
        throw SimulatedError(isRetryable: retryable)
    }

    private func perform(_ act: PluginAct, _ call: Int) async {
        switch act {
        case .returns: break
        case .yields(let count): for _ in 0..<count { await Task.yield() }
        case .waits(let ticks), .fails(_, let ticks): await wait(ticks)
        case .hangs: await release.pass()
        case .delivers(let message, let source): await deliver(message, through: source, call)
        }
    }

    /// Submits one message and awaits its outcome, as a plugin does that needs another; whose call it is, if any.
    func deliver(_ message: Int, through source: Int, _ call: Int? = nil) async {
        guard let intake = intake(of: source) else { return }
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: scenario.sources[source].name, facts: TestFacts())
        let mark = ArrivalMark(source: source, token: ownToken())
        batch.append(scenario.messages[message], token: mark.token, origin: origin)
        if let call { add(.delivers(call: call, mark)) }
        _ = await intake.deliver(batch.take())
    }

    func mark(of context: ActionContext) -> ArrivalMark {
        let source = scenario.sources.firstIndex { $0.name == context.origin.source } ?? 0
        return ArrivalMark(source: source, token: context.arrival.token)
    }
}

/// Middleware that does what its scenario says.
struct SimulatedMiddleware: Middleware {
    let scenario: MiddlewareScenario
    let world: SimulationWorld
    /// How what it decides is known again.
    static let detail = "middleware"

    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
        let act = world.actOnce(scenario.act(message: world.message(of: context.arrival)), context)
        let mark = world.mark(of: context)
        world.add(.middlewareBegan(mark, act, attempt: context.attempt))
        defer { world.add(.middlewareEnded(mark, attempt: context.attempt)) }
        switch act {
        case .passes: return await next(context)
        case .waits(let ticks):
            await world.wait(ticks)
            return await next(context)
        case .answers: return .handled(reply: Bytes("-1"))
        case .fails(let retryable):
            return .failed(Outcome.Failure(.threw, detail: SimulatedMiddleware.detail, isRetryable: retryable))
        case .rejects: return .rejected(Outcome.Rejection(.unavailable, detail: SimulatedMiddleware.detail))
        case .abandons: return .abandoned(.stop)
        case .throwsAway:
            _ = await next(context)
            return .abandoned(.stop)
        }
    }
}

extension SimulationWorld {
    /// Letting go of the same message whenever it comes again would go on for ever.
    fileprivate func actOnce(_ act: MiddlewareAct, _ context: ActionContext) -> MiddlewareAct {
        guard act == .throwsAway || act == .abandons, !throwAway(message(of: context.arrival)) else { return act }
        return .passes
    }
}

/// Records what observers are told. What a plugin delivers is settled through a sink of its own, so it is recorded here
/// that it is.
struct SimulatedObserver: OutcomeObserver, ReportObserver {
    let world: SimulationWorld

    func reported(_ report: SupervisorReport) { world.add(.reported(report)) }

    func settled(_ arrival: SettledArrival) {
        let source = world.scenario.sources.firstIndex { $0.name == arrival.arrival.origin.source } ?? 0
        let mark = ArrivalMark(source: source, token: arrival.arrival.token)
        world.add(
            .observed(mark, arrival.outcome, attempts: arrival.attempts, isRepeat: arrival.isRepeat)
        )
        guard SimulationWorld.isOwn(mark.token) else { return }
        if case .abandoned = arrival.outcome {} else { world.add(.acknowledged(mark)) }
        world.add(.settled(mark, arrival.outcome))
    }
}
