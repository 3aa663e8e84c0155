public import Signalbox

extension Supervisor {
    /// Runs the supervisor during `body`, then shuts it down gracefully and waits until it ends.
    ///
    /// Use this method in a test that sends messages through an ``InMemoryAdapter``. If `body` throws, the supervisor
    /// stops immediately. A supervisor runs only once.
    ///
    /// - Returns: The result of `body`.
    /// - Throws: `RegistrationError.closed` if the supervisor is running or has run, in which case `body` is not
    ///   called. Otherwise, any error of `body` or of ``Signalbox/Supervisor/run()``, such as an adapter's error.
    public func whileRunning<Result>(_ body: () async throws -> Result) async throws -> Result {
        // The supervisor is opened before `body` starts. If the run were refused later, `body` would wait for messages
        // that no supervisor takes.
        let adapters = try open()
        async let running: Void = run(adapters)
        let result = try await body()
        shutDown()
        try await running
        return result
    }
}
