public import Signalbox

extension Supervisor {
    /// Runs the supervisor while `body` works, then shuts it down gracefully and waits for its end.
    ///
    /// When `body` throws, the supervisor is stopped at once. A supervisor runs once.
    ///
    /// - Returns: what `body` returned.
    /// - Throws: `RegistrationError.closed` when the supervisor runs or has run, and `body` is not called then; what
    ///   `body` throws; else what ``Signalbox/Supervisor/run()`` throws, such as an adapter's error.
    public func whileRunning<Result>(_ body: () async throws -> Result) async throws -> Result {
        // Nobody would hear of a refused run while the body waits for messages that nobody takes.
        let adapters = try open()
        async let running: Void = run(adapters)
        let result = try await body()
        shutDown()
        try await running
        return result
    }
}

extension SupervisorConfiguration {
    /// The defaults, but nothing is overdue because other tests have the processor: for tests by the system's clock.
    package static var patient: SupervisorConfiguration {
        var configuration = SupervisorConfiguration()
        (configuration.timeout, configuration.holdLimit) = (.seconds(600), .seconds(600))
        configuration.drainLimit = .seconds(600)
        return configuration
    }
}
