package import Signalbox

/// A service that runs while a test works.
public enum ServiceRun {
    /// Runs a service in a child task while `body` works, then cancels that task and waits for its end.
    ///
    /// - Parameters:
    ///   - service: The work of the service, which returns after its task has been cancelled.
    ///   - onFailure: Called if `body` throws, before the service is cancelled. Use this to settle arrivals, because a
    ///     source waits for outcomes that can no longer arrive.
    ///   - body: The work of the test.
    /// - Throws: The error of `body`; otherwise that of the service.
    public static func during(
        _ service: @escaping @Sendable () async throws -> Void,
        onFailure: () -> Void = {},
        _ body: () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service() }
            do {
                try await body()
            } catch {
                onFailure()
                group.cancelAll()
                throw error
            }
            group.cancelAll()
            try await group.waitForAll()
        }
    }
}

extension SupervisorConfiguration {
    /// The defaults with timeouts that a busy machine does not exceed, for tests that use the system clock.
    package static var patient: SupervisorConfiguration {
        var configuration = SupervisorConfiguration()
        (configuration.timeout, configuration.ackDeadline) = (.seconds(600), .seconds(600))
        configuration.drainLimit = .seconds(600)
        return configuration
    }
}
