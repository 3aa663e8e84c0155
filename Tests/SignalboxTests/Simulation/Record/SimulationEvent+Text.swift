import Signalbox
import SignalboxCore

extension SimulationEvent: CustomStringConvertible {
    /// One line of the log of a run.
    var description: String {
        switch self {
        case .tick(let tick): "tick \(tick)"
        case .offers(let number, let offered):
            "offer \(number): " + offered.map { "\($0.mark)=m\($0.message)" }.joined(separator: " ")
        case .took(let number, let count): "took \(count) of offer \(number)"
        case .asksForRoom(let source): "s\(source) asks for room"
        case .hasRoom(let source): "s\(source) has room"
        case .isClosed(let source): "s\(source) is closed"
        case .acknowledged(let mark): "\(mark) may be acknowledged"
        case .settled(let mark, let outcome): "\(mark) settled \(outcome.simulationText)"
        case .observed(let mark, let outcome, let attempts, let isRepeat):
            "\(mark) observed \(outcome.simulationText), \(attempts) attempts\(isRepeat ? ", a repeat" : "")"
        case .callBegan, .callEnded, .middlewareBegan, .middlewareEnded: callText
        case .delivers(let call, let mark): "call \(call) delivers \(mark)"
        case .registered(let registration, let action): "registration \(registration) for p\(action)"
        case .removed(let action): "p\(action) removed"
        case .refused(let action): "a change of p\(action) refused"
        case .runBegan: "run begins"
        case .shutDown: "graceful shutdown"
        case .cancelled: "run cancelled"
        case .runEnded(let report): "run ended: \(report.simulationText)"
        case .quiet(let report): "quiet: \(report.simulationText)"
        case .released(let isReleased): isReleased ? "supervisor freed" : "supervisor still held"
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
            + "running \(callsStillRunning), \(deadLetters) dead letters"
    }
}
