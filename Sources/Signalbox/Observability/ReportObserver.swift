/// Told once a second what a supervisor has done so far, and once more when it ends.
///
/// For numbers that have no event, such as how full the windows are. A ``Middleware`` or ``OutcomeObserver`` that conforms
/// too is told as soon as it is used.
public protocol ReportObserver: Sendable {
    /// Called on the supervisor's timer, one call at a time; must not block.
    func reported(_ report: SupervisorReport)
}
