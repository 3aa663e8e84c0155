package import Signalbox

extension SupervisorConfiguration {
    /// The defaults, but nothing is overdue because other tests have the processor: for tests by the system's clock.
    package static var patient: SupervisorConfiguration {
        var configuration = SupervisorConfiguration()
        (configuration.timeout, configuration.holdLimit) = (.seconds(600), .seconds(600))
        configuration.drainLimit = .seconds(600)
        return configuration
    }
}
