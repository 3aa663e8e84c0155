import Signalbox

/// The last line of a run: how many arrivals ended in which outcome.
struct RunSummary: CustomStringConvertible {
    let report: SupervisorReport
    /// Lines of `--outcomes` that stdout was too slow for.
    let droppedLines: Int
    /// How often the configuration was read anew.
    var reloads = ReloadCounts()

    /// One line without a newline.
    var description: String {
        let total = report.total
        var parts = [
            "handled \(total.handled)", "rejected \(total.rejected)", "failed \(total.failed)",
            "abandoned \(total.abandoned)", "dead letters \(report.deadLetters)",
        ]
        if report.deadLettersDropped > 0 { parts.append("of these dropped \(report.deadLettersDropped)") }
        if total.lateReturns > 0 { parts.append("returned late \(total.lateReturns)") }
        if report.unsettled > 0 { parts.append("unsettled \(report.unsettled)") }
        if !report.callsStillRunning.isEmpty {
            parts.append("not returned: \(report.callsStillRunning.joined(separator: " "))")
        }
        if droppedLines > 0 { parts.append("outcome lines dropped \(droppedLines)") }
        if let reloads = reloads.description { parts.append(reloads) }
        return parts.joined(separator: ", ")
    }
}
