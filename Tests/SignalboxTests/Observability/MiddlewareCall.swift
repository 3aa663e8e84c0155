import SignalboxCore
import Synchronization

@testable import Signalbox

struct TestError: Error {}

/// Passes one action through a middleware, as a lane does.
func call(
    _ middleware: any Middleware,
    plugin: ActionName,
    action: String? = nil,
    facts: (any OriginFacts)? = nil,
    attempt: Int = 1,
    _ work: @escaping @Sendable (ActionContext) async -> Outcome
) async -> Outcome {
    let arrival = arrival(message(action ?? plugin.text, id: "m-1"), facts: facts)
    let context = ActionContext(arrival: arrival, host: nil, attempt: attempt)
    return await middleware.handle(context, next: MiddlewareNext([], plugin: plugin, call: work))
}

/// What an observer is told of one arrival.
func settled(
    _ plugin: ActionName?,
    _ outcome: Outcome,
    attempts: Int,
    isRepeat: Bool = false,
    isOutcomeOfAttempt: Bool = false,
    facts: (any OriginFacts)? = nil,
    _ text: String? = nil
) -> SettledArrival {
    SettledArrival(
        arrival: arrival(text ?? message(plugin?.text ?? "nobody", id: "m-1"), facts: facts),
        plugin: plugin,
        outcome: outcome,
        attempts: attempts,
        isRepeat: isRepeat,
        isOutcomeOfAttempt: isOutcomeOfAttempt
    )
}

private func arrival(_ text: String, facts: (any OriginFacts)?) -> Arrival {
    var batch = ArrivalBatch(pool: ArrivalPool())
    let origin = Origin(source: "push", facts: facts ?? TestFacts())
    Array(text.utf8).withUnsafeBytes { bytes in
        batch.append(bytes, token: 0, origin: origin, receivedAt: WallTime(seconds: 1_000), deadline: nil)
    }
    return batch.take()[0]
}
