import Signalbox
import SignalboxTesting

/// Keeps what each report says is unsettled.
struct ReportCounter: OutcomeObserver, ReportObserver {
    let seen: EventList<Int>

    func settled(_ arrival: SettledArrival) {}

    func reported(_ report: SupervisorReport) { seen.append(contentsOf: [report.unsettled]) }
}
