import Signalbox
import SignalboxCore

/// One thing that happened. The order in the log is the order in which things happened, as there is one thread.
enum SimulationEvent: Sendable, Hashable {
    /// The clock was moved to this tick.
    case tick(Int)

    /// Somebody calls `submit`, and `submit` returns. What it decides at once is settled in between.
    case offers(number: Int, [Offered])
    case took(number: Int, count: Int)
    case asksForRoom(source: Int)
    case hasRoom(source: Int)
    case isClosed(source: Int)

    /// What the sink and the observer are told.
    case acknowledged(ArrivalMark)
    case settled(ArrivalMark, Outcome)
    case observed(ArrivalMark, Outcome, attempts: Int, isRepeat: Bool)

    /// A plugin's code begins and ends. A batch plugin's call is for several arrivals.
    case callBegan(call: Int, registration: Int, [ArrivalMark], attempt: Int)
    case callEnded(call: Int, CallResult)
    /// A call delivers something and awaits its outcome.
    case delivers(call: Int, ArrivalMark)
    /// Middleware begins and ends; what it does decides whether a call lies in between.
    case middlewareBegan(ArrivalMark, MiddlewareAct, attempt: Int)
    case middlewareEnded(ArrivalMark, attempt: Int)

    case registered(registration: Int, action: Int)
    case removed(action: Int)
    case refused(action: Int)

    case runBegan
    case shutDown
    case cancelled
    /// `run()` has returned, and this is the report then.
    case runEnded(SupervisorReport)
    /// Every call has returned and nothing is left to do.
    case quiet(SupervisorReport)
    /// Whether the supervisor was freed when nobody used it any more.
    case released(Bool)

    /// An arrival and the message that it is.
    struct Offered: Sendable, Hashable {
        let mark: ArrivalMark
        let message: Int
    }

    enum CallResult: Sendable, Hashable {
        case returned
        case failed(retryable: Bool)
    }
}
