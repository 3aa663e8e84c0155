import Signalbox
import SignalboxCore

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
