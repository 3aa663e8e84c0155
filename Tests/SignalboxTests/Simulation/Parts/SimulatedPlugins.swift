import Signalbox
import SignalboxCore
import SignalboxTesting

/// The error that simulated plugins throw.
struct SimulatedError: RetryableError {
    let isRetryable: Bool
    var whenExhausted = RetryExhaustion.deadLetter
}

/// A batch plugin that performs the act of its first arrival's message.
struct SimulatedBatchPlugin: BatchPlugin {
    let world: SimulationWorld
    let hold: RegistrationHold
    let action: ActionName

    func callAsActions(_ batch: [(info: SimulatedInfo, context: ActionContext)]) async throws {
        _ = try await world.call(hold.number, batch.map(\.context), batch[0].info)
    }
}

extension SimulationWorld {
    /// Runs a plugin's call.
    ///
    /// - Returns: The number of the call. It is the plugin's reply, so that each outcome identifies its call.
    func call(_ registration: Int, _ contexts: [ActionContext], _ info: SimulatedInfo) async throws -> Int {
        let (call, act) = begin(registration, contexts, info)
        await perform(act, call)
        return try end(call, act)
    }

    /// Runs a call of a plugin that does not wait.
    func callWithoutWaiting(_ registration: Int, _ context: ActionContext, _ info: SimulatedInfo) throws -> Int {
        let (call, act) = begin(registration, [context], info)
        return try end(call, act.withoutWaiting)
    }

    private func begin(
        _ registration: Int,
        _ contexts: [ActionContext],
        _ info: SimulatedInfo
    ) -> (call: Int, act: PluginAct) {
        let dispatches = scenario.journal == nil ? [] : contexts.map { dispatch(of: $0.arrival) }
        let marks = contexts.map(mark(of:))
        return beginCall(registration, marks, dispatches, message: info.message, attempt: contexts[0].attempt)
    }

    private func end(_ call: Int, _ act: PluginAct) throws -> Int {
        switch act {
        case .fails(let retryable, _):
            add(.callEnded(call: call, .failed(retryable: retryable)))
            throw SimulatedError(isRetryable: retryable)
        case .givesBack:
            add(.callEnded(call: call, .failed(retryable: false)))
            throw SimulatedError(isRetryable: false, whenExhausted: .abandon)
        default:
            add(.callEnded(call: call, .returned))
            return call
        }
    }

    private func perform(_ act: PluginAct, _ call: Int) async {
        switch act {
        case .returns, .dies: break
        case .yields(let count): for _ in 0..<count { await Task.yield() }
        case .waits(let ticks), .fails(_, let ticks), .givesBack(let ticks): await wait(ticks)
        case .hangs: await release.pass()
        case .delivers(let message, let source): await deliver(message, through: source, call)
        }
    }

    /// Submits one message and awaits its outcome. `call` is the plugin's call that requires it, if any.
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

/// Middleware that performs the acts of its scenario.
struct SimulatedMiddleware: Middleware {
    let scenario: MiddlewareScenario
    let world: SimulationWorld
    /// The detail that identifies this middleware's outcomes.
    static let detail = "middleware"

    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
        let act = world.actOnce(scenario.act(message: world.message(of: context.arrival)), context)
        let mark = world.mark(of: context)
        world.note(.entered(world.dispatch(of: context.arrival)))
        world.add(.middlewareBegan(mark, act, attempt: context.attempt))
        defer { world.add(.middlewareEnded(mark, attempt: context.attempt)) }
        switch act {
        case .passes: return await next(context)
        case .waits(let ticks):
            await world.wait(ticks)
            return await next(context)
        case .answers:
            world.note(.answered(world.dispatch(of: context.arrival)))
            return .handled(reply: Bytes("-1"))
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
    /// Returns the act, or `.passes` if it would abandon a message again, because redelivery would never end.
    fileprivate func actOnce(_ act: MiddlewareAct, _ context: ActionContext) -> MiddlewareAct {
        guard act == .throwsAway || act == .abandons, !throwAway(message(of: context.arrival)) else { return act }
        return .passes
    }
}

/// An observer that records outcomes and reports. A message that a plugin delivers has a sink that is not observed, so
/// the observer also records its settlement.
struct SimulatedObserver: OutcomeObserver, ReportObserver {
    let world: SimulationWorld

    func reported(_ report: SupervisorReport) { world.add(.reported(report)) }

    func settled(_ arrival: SettledArrival) {
        let source = world.scenario.sources.firstIndex { $0.name == arrival.arrival.origin.source } ?? 0
        let mark = ArrivalMark(source: source, token: arrival.arrival.token)
        world.note(
            .outcome(world.dispatch(of: arrival.arrival), arrival.outcome, isDuplicate: arrival.isDuplicate)
        )
        world.add(
            .observed(mark, arrival.outcome, attempts: arrival.attempts, isDuplicate: arrival.isDuplicate)
        )
        guard SimulationWorld.isOwn(mark.token) else { return }
        if case .abandoned = arrival.outcome {} else { world.add(.acknowledged(mark)) }
        world.add(.settled(mark, arrival.outcome))
    }
}
