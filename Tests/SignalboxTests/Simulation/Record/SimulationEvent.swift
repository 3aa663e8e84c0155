import Signalbox
import SignalboxCore

/// One thing that happened. The order in the log is the order in which things happened, as there is one thread.
enum SimulationEvent: Sendable, Hashable {
    /// The clock was moved to this tick.
    case tick(Int)

    /// Somebody calls `submit`, and `submit` returns. What it decides at once is settled in between.
    case offers(number: Int, IntakeMark, [Offered])
    case took(number: Int, count: Int)
    case asksForRoom(IntakeMark)
    case hasRoom(IntakeMark)
    case isClosed(IntakeMark)

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

    /// A source was added, or was not.
    case added(IntakeMark)
    case notAdded(source: Int)
    /// The removal of a source was asked for, and has returned.
    case leaves(removal: Int, source: Int)
    case left(removal: Int, isRemoved: Bool)

    case runBegan
    case shutDown
    case cancelled
    /// `run()` has returned, and this is the report then.
    case runEnded(SupervisorReport)
    /// The report that observers are told once a second, and at the end.
    case reported(SupervisorReport)
    /// Every call has returned and nothing is left to do; the messages of the dead letters that are kept.
    case quiet(SupervisorReport, letters: [Int])
    /// Whether the supervisor was freed when nobody used it any more, and the registrations that somebody still holds.
    case released(supervisor: Bool, held: [Int])

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
