import Signalbox
import SignalboxCore

/// One event of a run. The log is in the order of occurrence, because there is one thread.
enum SimulationEvent: Sendable, Hashable {
    /// The clock advances to this tick.
    case tick(Int)

    /// `submit` is called, and returns. The outcomes that it decides immediately come in between.
    case offers(number: Int, IntakeMark, [Offered])
    case took(number: Int, count: Int)
    case waitsForRoom(IntakeMark)
    case hasRoom(IntakeMark)
    case isClosed(IntakeMark)

    /// The notifications of the sink and of the observer.
    case acknowledged(ArrivalMark)
    case settled(ArrivalMark, Outcome)
    case observed(ArrivalMark, Outcome, attempts: Int, isDuplicate: Bool)

    /// A plugin's code begins, and ends. The call of a batch plugin has several arrivals.
    case callBegan(call: Int, registration: Int, [ArrivalMark], attempt: Int)
    case callEnded(call: Int, CallResult)
    /// A call delivers an arrival and awaits its outcome.
    case delivers(call: Int, ArrivalMark)
    /// Middleware begins, and ends. Its act decides whether a call lies in between.
    case middlewareBegan(ArrivalMark, MiddlewareAct, attempt: Int)
    case middlewareEnded(ArrivalMark, attempt: Int)

    case registered(registration: Int, action: Int)
    case removed(action: Int)
    case refused(action: Int)

    /// A source is added, or its addition is refused.
    case added(IntakeMark)
    case notAdded(source: Int)
    /// The removal of a source is requested, and returns.
    case leaves(removal: Int, source: Int)
    case left(removal: Int, isRemoved: Bool)

    case runBegan
    case shutDown
    case cancelled
    /// `run()` has returned with this report.
    case runEnded(SupervisorReport)
    /// The report that observers receive once a second and at the end.
    case reported(SupervisorReport)
    /// Every call has returned and no work is left. The letters are the messages of the stored dead letters.
    case quiet(SupervisorReport, letters: [Int])
    /// Whether the supervisor was deallocated after its last use, and the registrations that are still retained.
    case released(supervisor: Bool, held: [Int])
    /// An event of a simulation with a store.
    case journal(JournalEvent)

    /// An arrival and its message.
    struct Offered: Sendable, Hashable {
        let mark: ArrivalMark
        let message: Int
    }

    enum CallResult: Sendable, Hashable {
        case returned
        case failed(retryable: Bool)
    }
}

extension SimulationEvent: CustomStringConvertible {
    /// The event's line in the log of a run.
    var description: String {
        switch self {
        case .tick(let tick): "tick \(tick)"
        case .offers(let number, let intake, let offered):
            "offer \(number) to \(intake): " + offered.map { "\($0.mark)=m\($0.message)" }.joined(separator: " ")
        case .took(let number, let count): "took \(count) of offer \(number)"
        case .waitsForRoom(let intake): "\(intake) waits for room"
        case .hasRoom(let intake): "\(intake) has room"
        case .isClosed(let intake): "\(intake) is closed"
        case .acknowledged(let mark): "\(mark) may be acknowledged"
        case .settled(let mark, let outcome): "\(mark) settled \(outcome.simulationText)"
        case .observed(let mark, let outcome, let attempts, let isDuplicate):
            "\(mark) observed \(outcome.simulationText), \(attempts) attempts\(isDuplicate ? ", a duplicate" : "")"
        case .callBegan, .callEnded, .middlewareBegan, .middlewareEnded: callText
        case .delivers(let call, let mark): "call \(call) delivers \(mark)"
        case .registered(let registration, let action): "registration \(registration) for p\(action)"
        case .removed(let action): "p\(action) removed"
        case .refused(let action): "a change of p\(action) refused"
        case .added, .notAdded, .leaves, .left: sourceText
        case .runBegan: "run begins"
        case .shutDown: "graceful shutdown"
        case .cancelled: "run cancelled"
        case .runEnded(let report): "run ended: \(report.simulationText)"
        case .reported(let report): "reported: \(report.simulationText)"
        case .quiet(let report, let letters):
            "quiet: \(report.simulationText), kept " + letters.map { "m\($0)" }.joined(separator: " ")
        case .journal(let event): "\(event)"
        case .released(let isFreed, let held):
            "supervisor \(isFreed ? "freed" : "still held")" + held.map { ", registration \($0) still held" }.joined()
        }
    }

    private var callText: String {
        switch self {
        case .callBegan(let call, let registration, let marks, let attempt):
            "call \(call) of registration \(registration), attempt \(attempt): "
                + marks.map(\.description).joined(separator: " ")
        case .callEnded(let call, .returned): "call \(call) returned"
        case .callEnded(let call, .failed(let retryable)): "call \(call) threw\(retryable ? ", retryable" : "")"
        case .middlewareBegan(let mark, let act, let attempt): "middleware \(act) for \(mark), attempt \(attempt)"
        case .middlewareEnded(let mark, let attempt): "middleware ended for \(mark), attempt \(attempt)"
        default: ""
        }
    }
}

extension SimulationEvent {
    private var sourceText: String {
        switch self {
        case .added(let intake): "\(intake) added"
        case .notAdded(let source): "s\(source) not added"
        case .leaves(let removal, let source): "removal \(removal) of s\(source)"
        case .left(let removal, let isRemoved): "removal \(removal) \(isRemoved ? "done" : "refused")"
        default: ""
        }
    }
}

extension Outcome {
    fileprivate var simulationText: String {
        guard case .handled(let reply?) = self else { return code }
        return "handled(\(reply.text ?? ""))"
    }
}

extension SupervisorReport {
    fileprivate var simulationText: String {
        let counts = total
        return "\(counts.handled) handled, \(counts.rejected) rejected, \(counts.failed) failed, "
            + "\(counts.abandoned) abandoned, \(counts.lateReturns) late, \(unsettled) unsettled, "
            + "running \(callsStillRunning), \(deadLetters) dead letters, \(deadLettersDropped) dropped"
    }
}
