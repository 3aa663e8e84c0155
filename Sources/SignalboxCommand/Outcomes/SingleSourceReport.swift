/// What happened in the run of one source.
struct SingleSourceReport {
    /// How the supervisor ended.
    let session: SupervisorSession.End
    /// How the source ended.
    let source: OrderedSource.End
    /// Why lines were lost, if any were.
    let lost: OutputFailure?
    /// What asked the source to stop, if anything did.
    let interruption: CommandStatus?
    /// How many lines were handed to stdout.
    let written: Int
    /// What became of its arrivals.
    let summary: OutcomeSummary

    /// The status when the run did not come to its own end, after telling why on stderr; else `nil`.
    func early(_ whatEnded: String) -> CommandStatus? {
        if case .failed(let error) = session {
            DiagnosticOutput.shared.tell("\(error)")
            return .unavailable
        }
        if let lost {
            DiagnosticOutput.shared.tell("\(lost)")
            return .outputFailed
        }
        guard case .stopped = source else { return nil }
        let reason = interruption ?? .unavailable
        DiagnosticOutput.shared.tell(
            reason == .timeout ? "the time passed before \(whatEnded)" : "ended before \(whatEnded)"
        )
        return reason
    }
}
