package import Signalbox

extension SupervisorConfiguration {
    /// The defaults with timeouts that a busy machine does not exceed, for tests that use the system clock.
    package static var patient: SupervisorConfiguration {
        var configuration = SupervisorConfiguration()
        (configuration.timeout, configuration.ackDeadline) = (.seconds(600), .seconds(600))
        configuration.drainLimit = .seconds(600)
        return configuration
    }
}
